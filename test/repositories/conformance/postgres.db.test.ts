import { after, mock, suite, test } from 'node:test'
import { connectDatabase } from '../../../src/repositories/database.ts'
import type { NotificationChannel } from '../../../src/repositories/notifications.ts'
import { createScratchDatabase } from '../../support/scratch-database.ts'
import { cases } from './cases.ts'
import { setProcessClock, start } from './subject.ts'

const channels: NotificationChannel[] = ['outbox', 'slots']

suite('the repositories on Postgres', async () => {
  const scratch = await createScratchDatabase()
  const { client } = scratch
  const database = connectDatabase(scratch.url, { poolSize: 4 })
  after(async () => {
    mock.timers.reset()
    await database.close()
    await scratch.drop()
  })
  const notified = new Set<string>()
  client.on('notification', ({ channel }) => notified.add(channel))
  for (const channel of [...channels, 'marker']) await client.query(`listen ${channel}`)

  async function setNow(at: Date) {
    setProcessClock(at)
    await scratch.setNow(at)
  }

  /** Notifications come in the order of their commits: with the marker, all that were before it are here. */
  async function heard(): Promise<string[]> {
    await client.query('notify marker')
    while (!notified.has('marker')) await client.query('select 1')
    const before = channels.filter((channel) => notified.has(channel))
    notified.clear()
    return before
  }

  for (const [name, run] of Object.entries(cases))
    test(name, async () => {
      await scratch.clear()
      await setNow(start)
      await heard()
      await run({ database, setNow, heard })
    })
})
