// What an installation runs before its processes, and what its alerts read: against real servers.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { Connection } from '@temporalio/client'
import { Client } from 'pg'
import { connectDatabase } from '../../src/repositories/database.ts'
import { root } from '../../tools/paths.mjs'
import { searchAttributes } from '../../workflows/contract.ts'
import { connection } from '../support/stack.ts'

const { databaseUrl, temporalAddress, adminUrl } = connection()
const name = `operation_${randomBytes(4).toString('hex')}`

const anneal = (command: string, env: Record<string, string>) =>
  promisify(execFile)(process.execPath, ['src/cli.ts', ...command.split(' ')], {
    cwd: root,
    env: { ...process.env, ...env },
  })

suite('anneal migrate', async () => {
  const admin = new Client({ connectionString: databaseUrl })
  await admin.connect()
  await admin.query(`create database ${name}`)
  const url = Object.assign(new URL(databaseUrl), { pathname: name }).href
  after(async () => {
    await admin.query(`drop database ${name} with (force)`)
    await admin.end()
  })

  test('migrates once when several start together, and the others wait', async () => {
    const outputs = await Promise.all([1, 2, 3].map(() => anneal('migrate', { DATABASE_URL: url })))
    const brought = outputs.filter(({ stdout }) => stdout.includes('was migrated to the schema'))
    assert.equal(brought.length, 1, JSON.stringify(outputs))
    const database = connectDatabase(url, { poolSize: 1 })
    assert.equal((await database.backlog.measure()).outboxMessages, 0)
    await database.close()
  })

  test('names the reason of a failure', async () => {
    const nowhere = Object.assign(new URL(databaseUrl), { pathname: 'nowhere' }).href
    await assert.rejects(anneal('migrate', { DATABASE_URL: nowhere }), { code: 1, stderr: /"nowhere" does not exist/ })
  })
})

suite('anneal register', () => {
  test('makes the namespace and every search attribute, once', async () => {
    const env = { TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: name }
    const first = await anneal('register', env)
    assert.match(first.stdout, /^Created in operation_\w+: the namespace, /)
    const temporal = await Connection.connect({ address: temporalAddress })
    const { customAttributes } = await temporal.operatorService.listSearchAttributes({ namespace: name })
    await temporal.close()
    for (const { name: attribute } of Object.values(searchAttributes))
      assert.ok(customAttributes?.[attribute], attribute)
    assert.match((await anneal('register', env)).stdout, /needs no change/)
  })

  test('--check prints the commands for what is missing, changes nothing, and then finds everything', async () => {
    const env = { TEMPORAL_ADDRESS: temporalAddress, TEMPORAL_NAMESPACE: `${name}_checked` }
    for (const _ of [1, 2])
      await assert.rejects(anneal('register --check', env), (error: Error & { code: number; stderr: string }) => {
        assert.equal(error.code, 1)
        assert.match(error.stderr, /temporal operator namespace create --namespace \w+ --retention 30d/)
        for (const { name: attribute } of Object.values(searchAttributes))
          assert.match(error.stderr, new RegExp(`tcld .*--search-attribute "${attribute}=(Keyword|Int)"`))
        return true
      })
    await anneal('register', env)
    assert.match((await anneal('register --check', env)).stdout, /has all that Anneal needs/)
  })

  test('says when Temporal does not answer', async () => {
    await assert.rejects(anneal('register', { TEMPORAL_ADDRESS: '127.0.0.1:1' }), {
      code: 3,
      stderr: /does not answer/,
    })
  })
})

suite('/metrics of the api', () => {
  const metric = async (wanted: string) => {
    const text = await (await fetch(`${adminUrl}/metrics`)).text()
    return Number(new RegExp(`^${wanted} (\\S+)$`, 'm').exec(text)?.[1] ?? assert.fail(`no ${wanted} in ${text}`))
  }

  test('tell how long the oldest message has been waiting for Temporal', async () => {
    assert.equal(await metric('anneal_database_up'), 1)
    const database = new Client({ connectionString: databaseUrl })
    await database.connect()
    try {
      // Claimed for long by nobody, so that no relay delivers it meanwhile.
      await database.query(
        `insert into outbox_messages (workflow_id, kind, generation, payload, created_at, claimed_until)
         values ($1, 'phase', 1, '{"attempt": 1, "phase": "LOADING DATA"}', now() - interval '1 hour', now() + interval '1 hour')`,
        [name],
      )
      assert.ok((await metric('anneal_outbox_age_seconds')) >= 3600)
      assert.ok((await metric('anneal_outbox_messages')) >= 1)
    } finally {
      await database.query('delete from outbox_messages where workflow_id = $1', [name])
      await database.end()
    }
  })
})
