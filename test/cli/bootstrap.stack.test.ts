// anneal bootstrap: against the real database and API, and a stand-in of the API server of Kubernetes.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test, type TestContext } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { startApiServer } from '../compute/kubernetes/support/small-api-server.ts'
import { connection } from '../support/stack.ts'

const { databaseUrl, apiUrl } = connection()
const newName = () => `bootstrap ${randomBytes(4).toString('hex')}`

const bootstrap = (args: string[], env: Record<string, string> = {}) =>
  promisify(execFile)(process.execPath, ['src/cli.ts', 'bootstrap', ...args], {
    cwd: root,
    env: { ...process.env, DATABASE_URL: databaseUrl, ...env },
  })

const statusWith = async (key: string) =>
  (await fetch(`${apiUrl}/v1/train/jobs`, { headers: { authorization: `Bearer ${key}` } })).status

suite('anneal bootstrap', () => {
  test('makes one account and one key when several start together, and the key works', async () => {
    const account = ['--account', newName()]
    const outputs = await Promise.all([1, 2, 3].map(() => bootstrap(account)))
    const keys = outputs.map(({ stdout }) => stdout.trim()).filter((text) => text !== '')
    assert.equal(keys.length, 1, JSON.stringify(outputs))
    assert.equal(await statusWith(keys[0] ?? ''), 200)
    const accounts = outputs.map(({ stderr }) => /^Account .* \((\S+)\)/.exec(stderr)?.[1])
    assert.equal(new Set(accounts).size, 1, JSON.stringify(outputs))
  })

  test('makes one more key when the first is lost, and the first stays valid', async () => {
    const account = ['--account', newName()]
    const first = (await bootstrap(account)).stdout.trim()
    const repeated = await bootstrap(account)
    assert.equal(repeated.stdout, '')
    assert.match(repeated.stderr, /exists\.\n.*add --new-key/s)
    const second = (await bootstrap([...account, '--new-key'])).stdout.trim()
    assert.deepEqual([await statusWith(first), await statusWith(second)], [200, 200])
  })

  test('names the reason when the database is away', async () => {
    const env = { DATABASE_URL: 'postgresql://nobody@127.0.0.1:1/none' }
    await assert.rejects(bootstrap([], env), { code: 1, stderr: /Nothing was made: .*127\.0\.0\.1:1/s })
  })

  test('refuses a name that is none of Kubernetes', async () => {
    await assert.rejects(bootstrap(['--secret', '../pods']), { code: 2, stderr: /--secret takes a name of Kubernetes/ })
  })
})

suite('anneal bootstrap --secret', () => {
  test('puts the key into the Secret, and prints it nowhere', async (t) => {
    const { server, intoSecret } = await openCluster(t)
    const { stdout, stderr } = await intoSecret(newName())
    const key = server.objects.secrets.get('first-key')?.stringData?.['ANNEAL_API_KEY'] ?? ''
    assert.equal(await statusWith(key), 200)
    assert.ok(!`${stdout}${stderr}`.includes(key.slice(-43)))
  })

  test('says what to do when the Secret is lost', async (t) => {
    const { server, intoSecret } = await openCluster(t)
    const account = newName()
    await intoSecret(account)
    server.remove('secrets', 'first-key')
    assert.match((await intoSecret(account)).stderr, /has no key. If the key is lost, add --new-key/)
    await intoSecret(account, '--new-key')
    assert.ok(server.objects.secrets.has('first-key'))
  })

  test('makes no account and no key where the cluster refuses the Secret', async (t) => {
    const { server, intoSecret } = await openCluster(t)
    const account = newName()
    server.setFault(() => ({ status: 403 }))
    await assert.rejects(intoSecret(account), { code: 1, stderr: /Nothing was made: a fault/ })
    server.setFault(() => undefined)
    assert.match((await intoSecret(account)).stderr, /^Account .* was made\.\nKey .* was made/)
  })
})

async function openCluster(t: TestContext) {
  const server = await startApiServer(t)
  const dir = mkdtempSync(join(tmpdir(), 'anneal-bootstrap-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const config = {
    clusters: [{ name: 'c', cluster: { server: server.url, 'insecure-skip-tls-verify': true } }],
    users: [{ name: 'u', user: {} }],
    contexts: [{ name: 'x', context: { cluster: 'c', user: 'u', namespace: 'here' } }],
    'current-context': 'x',
  }
  const kubeconfig = join(dir, 'config')
  writeFileSync(kubeconfig, JSON.stringify(config))
  const intoSecret = (account: string, ...more: string[]) =>
    bootstrap(['--account', account, '--secret', 'first-key', ...more], { KUBECONFIG: kubeconfig })
  return { server, intoSecret }
}
