// A database behind a network that swallows packets: every call ends in an error that says so, and the next one works.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { after, suite, test } from 'node:test'
import { isOutage } from '../../src/domain/outage.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { listenToNotifications } from '../../src/repositories/notifications.ts'
import { startLinkTo } from '../support/faulty-link.ts'
import { connection } from '../support/stack.ts'
import { eventually, untilSucceeds } from '../support/eventually.ts'

suite('a database behind a network that swallows', async () => {
  const timeouts = { connectMs: 2000, statementMs: 10_000, silenceMs: 1000 }
  const { link, url } = await startLinkTo(connection().databaseUrl)
  const database = connectDatabase(url, { poolSize: 2, timeouts })
  after(async () => {
    await database.close()
    link.close()
  })

  test('a query ends, also within a transaction, and the pool recovers', async () => {
    const inside = [() => database.check(), () => database.transaction((tx) => tx.accounts.find(randomUUID()))]
    for (const call of inside) {
      await database.check()
      link.fail({ kind: 'blackhole' })
      await assert.rejects(call, isOutage)
      // Neither is a connection made.
      await assert.rejects(call, isOutage)
      link.mend()
      await untilSucceeds(() => database.check())
    }
  })

  test('a transaction that is cut midway ends, and leaves nothing', async () => {
    const name = randomUUID()
    await assert.rejects(
      database.transaction(async (tx) => {
        await tx.accounts.create(name)
        link.fail({ kind: 'blackhole' })
        await tx.accounts.find(randomUUID())
      }),
      isOutage,
    )
    link.mend()
    await untilSucceeds(() => database.check())
    const accounts = await database.accounts.list({ after: null, limit: 100 })
    assert.ok(!accounts.some((account) => account.name === name))
  })

  test('a statement that takes too long is ended by the server', async () => {
    const short = connectDatabase(url, { poolSize: 1, timeouts: { ...timeouts, statementMs: 200, silenceMs: 5000 } })
    const patient = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    after(() => Promise.all([short.close(), patient.close()]))
    const { id } = await patient.accounts.create('locked')
    await patient.transaction(async (tx) => {
      await tx.accounts.hold(id)
      await assert.rejects(() => short.accounts.hold(id), isOutage)
    })
  })

  test('a listener whose connection has died opens a new connection', async () => {
    const notifications = listenToNotifications(url, timeouts)
    after(() => notifications.close())
    let woken = 0
    notifications.on('slots', () => woken++)
    // It wakes everybody when it is there, and again when it is back.
    await eventually(() => Promise.resolve(woken > 0))
    const before = woken
    link.fail({ kind: 'blackhole' })
    setTimeout(() => link.mend(), timeouts.silenceMs * 3)
    await eventually(() => Promise.resolve(woken > before))
  })
})
