// The simulation proves something only if its database answers as Postgres does: whole schedules of statements, on both.
import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { Client } from 'pg'
import { takeOverTime } from './clock.ts'
import { nameOf } from './database/database.ts'
import { doubleNames } from './database/doubles.ts'
import { Recorder } from './database/recorder.ts'
import { bundleWorkflows } from './temporal/bundle.ts'
import { createSandbox } from './temporal/sandbox.ts'
import { runSchedule } from './schedule.ts'
import { migrate, replay } from '../support/simulated-database.ts'
import { connection } from '../support/stack.ts'

/** Together they send every statement that has a double. */
const seeds = [517, 210, 515, 68, 99, 91, 165, 66]

suite('the simulated database', async () => {
  const { databaseUrl } = connection()
  const admin = new Client({ connectionString: databaseUrl })
  await admin.connect()
  const template = `simulated_${randomBytes(4).toString('hex')}`
  const urlOf = (name: string) => Object.assign(new URL(databaseUrl), { pathname: name }).href
  const names: string[] = [template]
  await admin.query(`create database ${template}`)
  await migrate(urlOf(template))
  after(async () => {
    for (const name of names) await admin.query(`drop database if exists ${name} with (force)`)
    await admin.end()
  })
  const sandbox = await createSandbox(await bundleWorkflows())
  takeOverTime()
  const sent = new Set<string>()

  for (const seed of seeds)
    test(`answers as Postgres does in schedule ${seed}`, async () => {
      const recorder = new Recorder()
      const { violations } = await runSchedule(seed, sandbox, { recorder })
      assert.deepEqual(violations, [])
      const name = `${template}_${seed}`
      names.push(name)
      await admin.query(`create database ${name} template ${template}`)
      await admin.query(`alter database ${name} set search_path = public, pg_catalog`)
      assert.deepEqual(await replay(urlOf(name), recorder), [])
      for (const { statements } of recorder.transactions)
        for (const statement of statements) sent.add(nameOf(statement.sent))
    })

  test('answered every statement that it knows', () => {
    assert.deepEqual(
      doubleNames().filter((name) => !sent.has(name)),
      [],
    )
  })
})
