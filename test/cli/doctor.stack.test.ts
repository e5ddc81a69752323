// anneal doctor: against the real database, store and Temporal, and a small identity provider.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, suite, test, type TestContext } from 'node:test'
import { Client } from 'pg'
import type { Finding } from '../../src/domain/finding.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { root } from '../../tools/paths.mjs'
import { connection } from '../support/stack.ts'

const { databaseUrl, temporalAddress, internalUrl, s3 } = connection()
const unique = randomBytes(4).toString('hex')
const away = '127.0.0.1:1'
const installed = {
  DATABASE_URL: databaseUrl,
  TEMPORAL_ADDRESS: temporalAddress,
  TEMPORAL_NAMESPACE: 'default',
  S3_ENDPOINT: s3.endpoint,
  S3_BUCKET: s3.bucket,
  S3_ACCESS_KEY: s3.accessKey,
  S3_SECRET_KEY: s3.secretKey,
  ANNEAL_INTERNAL_URL: internalUrl,
  ANNEAL_SECRET: 'x'.repeat(32),
}
const storageOf = (bucket: string) => createStorage({ ...s3, bucket, region: 'us-east-1' })

/** @returns the exit code, and the findings by name */
async function doctor(env: Record<string, string>, args: string[] = []) {
  const { promise, resolve } = Promise.withResolvers<{ code: number; text: string }>()
  execFile(
    process.execPath,
    ['src/cli.ts', 'doctor', '--json', ...args],
    { cwd: root, env: { PATH: process.env['PATH'], ...env } },
    (error, stdout, stderr) => resolve({ code: Number(error?.code ?? 0), text: stdout || stderr }),
  )
  const { code, text } = await promise
  const { findings } = JSON.parse(text) as { findings: Finding[] }
  return { code, text, of: Object.fromEntries(findings.map((finding) => [finding.check, finding])) }
}

/** As much of a provider as is asked, with a clock of its own. */
async function openIssuer(t: TestContext, aheadMs: number) {
  const server = createServer((request, response) => {
    response
      .setHeader('date', new Date(Date.now() + aheadMs).toUTCString())
      .setHeader('content-type', 'application/json')
    const issuer = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
    const keys = { keys: [{ kty: 'RSA', kid: 'a' }] }
    response.end(JSON.stringify(request.url === '/keys' ? keys : { issuer, jwks_uri: `${issuer}/keys` }))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  t.after(() => server.close())
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}`
}

suite('anneal doctor', () => {
  test('finds every dependency of a sound installation in order, and leaves no object', async (t) => {
    const issuer = await openIssuer(t, 0)
    const { code, of, text } = await doctor({
      ...installed,
      ANNEAL_OIDC_ISSUER: issuer,
      ANNEAL_OIDC_AUDIENCE: 'anneal',
      ANNEAL_OIDC_ROLES: 'ops=*:operator',
    })
    assert.deepEqual(
      Object.values(of).filter(({ state }) => state !== 'ok'),
      [],
      text,
    )
    const dependencies = ['database', 'database schema', 'database rights', 'notifications', 'object store']
    const further = [
      'signed URLs of pods',
      'bucket and database',
      'temporal',
      'worker',
      'sign-in',
      'internal api',
      'clocks',
    ]
    assert.deepEqual(Object.keys(of), [...dependencies, ...further])
    assert.match(of['clocks']?.says ?? '', /: database, object store, Temporal, identity provider$/)
    assert.equal(code, 0)
    const left = await storageOf(s3.bucket).pages('uploads/doctor/').next()
    assert.deepEqual(left.value, [])
  })

  test('names each dependency that is away, with a next step, and still examines the others', async () => {
    const { code, of, text } = await doctor({
      ...installed,
      TEMPORAL_ADDRESS: away,
      DATABASE_URL: `postgresql://u:geheim@${away}/x`,
    })
    assert.equal(code, 1)
    for (const name of ['database', 'temporal', 'bucket and database']) {
      assert.equal(of[name]?.state, 'failed', text)
      assert.ok(of[name].next)
    }
    assert.equal(of['object store']?.state, 'ok')
    assert.doesNotMatch(text, /geheim/)
  })

  test('names the step that the store refuses', async () => {
    const refused = await doctor({ ...installed, S3_SECRET_KEY: 'wrong'.repeat(5) })
    assert.match(refused.of['object store']?.says ?? '', /^refuses to write: /)
    const missing = await doctor({ ...installed, S3_BUCKET: `none-${unique}` })
    assert.match(missing.of['object store']?.says ?? '', /^refuses to write: .*bucket/i)
  })

  test('refuses a bucket of another installation in words', async () => {
    const bucket = `doctor-${unique}`
    const storage = storageOf(bucket)
    await storage.ensureBucket()
    await storage.write('installation', Buffer.from('another'))
    const { code, of } = await doctor({ ...installed, S3_BUCKET: bucket })
    assert.match(of['bucket and database']?.says ?? '', /^the bucket belongs to installation another, the database to /)
    assert.equal(code, 1)
  })

  test('warns of a clock that is ahead', async (t) => {
    const issuer = await openIssuer(t, 30_000)
    const roles = { ANNEAL_OIDC_AUDIENCE: 'anneal', ANNEAL_OIDC_ROLES: 'ops=*:operator' }
    const { code, of } = await doctor({ ...installed, ANNEAL_OIDC_ISSUER: issuer, ...roles })
    assert.equal(of['clocks']?.state, 'warning')
    assert.match(of['clocks'].says, /^identity provider is (29|30|31) s ahead$/)
    assert.equal(code, 0)
  })

  test('tells wrong settings as a finding', async () => {
    const { code, of } = await doctor({ ...installed, S3_ENDPOINT: 'nowhere' })
    assert.match(of['settings']?.says ?? '', /S3_ENDPOINT/)
    assert.equal(code, 1)
  })
})

suite('anneal doctor as a user of the database with too few rights', async () => {
  const admin = new Client({ connectionString: databaseUrl })
  await admin.connect()
  const user = `doctor_${unique}`
  await admin.query(`create user ${user} password 'p'; grant select on all tables in schema public to ${user}`)
  after(async () => {
    await admin.query(`drop owned by ${user}; drop user ${user}`)
    await admin.end()
  })

  test('counts the tables and says what to grant', async () => {
    const url = Object.assign(new URL(databaseUrl), { username: user, password: 'p' }).href
    const { of } = await doctor({ ...installed, DATABASE_URL: url })
    assert.match(of['database rights']?.says ?? '', /^the user lacks rights on (\d+) of \1 tables and sequences: /)
    assert.match(of['database rights']?.next ?? '', /^Grant what/)
  })
})
