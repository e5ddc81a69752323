// Postgres notifications wake loops early, and the followers of jobs. A dead connection loses notifications, so all listeners
// are woken after each reconnect.
import pg from 'pg'
import { setTimeout as sleep } from 'node:timers/promises'
import {
  connectionOptions,
  databaseTimeouts,
  type DatabaseAddress,
  type DatabaseTimeouts,
} from './connection-options.ts'
import type { Connection } from './connection.ts'

const channels = [
  ...([
    'outbox',
    'work',
    'slots',
    'model_servers',
    'stored_rows',
    'webhooks',
    'training_jobs',
    'waits',
    'access_ends',
    'grader_pods',
  ] as const),
]

export type NotificationChannel = (typeof channels)[number]

/** `payload` is empty after a reconnect. */
type Listener = (payload: string) => void

/** Listeners get the notification when the surrounding transaction commits. */
export async function notify(db: Connection, channel: NotificationChannel, payload = '') {
  await db.$executeRaw`select pg_notify(${channel}, ${payload})`
}

export type Notifications = ReturnType<typeof listenToNotifications>

/** Uses one connection for all listeners of this process. Wakes all of them after each reconnect. */
export function listenToNotifications(at: string | DatabaseAddress, timeouts: DatabaseTimeouts = databaseTimeouts) {
  const options = connectionOptions(at, timeouts)
  const listeners = new Map<NotificationChannel, Set<Listener>>(channels.map((channel) => [channel, new Set()]))
  const stopped = new AbortController()
  let client: pg.Client | undefined

  const wake = (channel: NotificationChannel, payload = '') =>
    listeners.get(channel)?.forEach((listener) => listener(payload))

  function listen(channel: NotificationChannel, listener: Listener) {
    listeners.get(channel)?.add(listener)
    return () => void listeners.get(channel)?.delete(listener)
  }

  async function connect() {
    const next = new pg.Client(options)
    const ended = new Promise<void>((resolve) => next.once('end', resolve).on('error', () => resolve()))
    next.on('notification', ({ channel, payload }) => wake(channel as NotificationChannel, payload))
    try {
      await next.connect()
      client = next
      await next.query(channels.map((channel) => `listen ${channel}`).join(';'))
      for (const channel of channels) wake(channel)
      // A quiet connection may be dead. Only a query shows it.
      for (;;) {
        const later = sleep(timeouts.silenceMs / 3, 'ask' as const, { ref: false })
        if ((await Promise.race([ended, later])) !== 'ask') return
        await next.query('select 1')
      }
    } finally {
      // A standby accepts the connection and refuses `listen`: close the connection, or every try leaks one.
      void next.end().catch(() => undefined)
    }
  }

  async function run() {
    while (!stopped.signal.aborted) {
      await connect().catch(() => undefined)
      await sleep(200 + Math.random() * 800, undefined, { signal: stopped.signal }).catch(() => undefined)
    }
  }
  void run()

  return {
    /** @returns a function that stops listening */
    on(channel: NotificationChannel, listener: () => void): () => void {
      return listen(channel, () => listener())
    },

    /** Calls back at each change of a job that users can see. After a reconnect every job may have changed, so the id is null. */
    onJob: (listener: (jobId: number | null) => void) =>
      listen('training_jobs', (payload) => listener(payload === '' ? null : Number(payload))),

    /** Calls back with the id of each key or session that has ended or will. After a reconnect any may have, so the id is null. */
    onAccessEnd: (listener: (id: string | null) => void) =>
      listen('access_ends', (payload) => listener(payload === '' ? null : payload)),

    /** Resolves at the next notification, after `timeoutMs`, or when `signal` aborts. */
    async next(channel: NotificationChannel, { timeoutMs, signal }: { timeoutMs: number; signal?: AbortSignal }) {
      const woken = new AbortController()
      const off = this.on(channel, () => woken.abort())
      const signals = signal ? [woken.signal, signal] : [woken.signal]
      await sleep(timeoutMs, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined)
      off()
    },

    async close() {
      stopped.abort()
      await client?.end().catch(() => undefined)
    },
  }
}
