// Serves the followers of jobs in one api process. A notification makes the feed of its job read; nothing polls. Another one
// ends the streams of a revoked key or an ended session. Heartbeats keep connections open, and end streams whose key or session
// has expired.
import type { JobCursor } from '../../domain/job-cursor.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Log } from '../../log.ts'
import type { Database } from '../../repositories/database.ts'
import type { Notifications } from '../../repositories/notifications.ts'
import type { Storage } from '../../storage/storage.ts'
import { createTurns } from '../../turns.ts'
import { createTtlCache } from '../ttl-cache.ts'
import { createFeedsByJob } from './feeds-by-job.ts'
import { createJobFeed, type Batch, type JobFeed } from './job-feed.ts'
import { createKeptRooms } from './kept-room.ts'
import { readNews } from './read-news.ts'

const heartbeatMs = 15_000
const retryAfterSeconds = 30
/** Limit of one process for all accounts together. */
const maxFollowers = 5000
/** Bytes of messages that the feeds of an account keep in one process. */
const maxKeptBytes = 16 * 1024 * 1024
/** Reads at the same time, in all and of one account: other requests need the rest of the database connections. */
const reads = { atMost: 6, atMostOfAccount: 3 }

type Follower = {
  accountId: string
  apiKeyId: string
  /** Set for pages of the console. */
  sessionId: string | undefined
  jobId: number
  /** Must not be ahead of the database: the feed of the job may begin there. */
  cursor: JobCursor
  signal: AbortSignal
}

export type JobFeeds = ReturnType<typeof createJobFeeds>

type FeedsDependencies = {
  database: Database
  storage: Storage
  log: Log
  notifications: Pick<Notifications, 'onJob' | 'onAccessEnd'>
  /** Limit of one account in this process. */
  maxOfAccount: number
}

export function createJobFeeds({ database, storage, notifications, log, maxOfAccount }: FeedsDependencies) {
  const feeds = createFeedsByJob()
  const rooms = createKeptRooms(maxKeptBytes)
  const followers = createFollowerCount(maxOfAccount)
  const turns = createTurns(reads)
  const liveKeys = createTtlCache<boolean>()
  /** By the key and by the session of a follower: what makes it ask whether both are live. */
  const checks = new Map<string, Set<() => void>>()
  let heartbeats = 0
  let isClosed = false

  const offJob = notifications.onJob((jobId) => {
    for (const feed of jobId === null ? feeds.all() : feeds.ofJob(jobId)) feed.look()
  })
  const offEnd = notifications.onAccessEnd((id) => {
    if (id === null) return beat()
    const concerned = checks.get(id)
    if (concerned) liveKeys.forget()
    for (const check of concerned ?? []) check()
  })
  const beating = setInterval(beat, heartbeatMs)
  beating.unref()

  function beat() {
    heartbeats++
    wakeAll()
  }

  function wakeAll() {
    for (const feed of feeds.all()) feed.wakeAll()
  }

  function feedOf({ jobId, accountId, cursor }: Follower): JobFeed {
    const newsSince: typeof database.jobFeed.since = async (...input) => {
      await turns.take(accountId)
      return database.jobFeed.since(...input).finally(() => turns.giveBack(accountId))
    }
    const read = (from: JobCursor) => readNews({ storage, newsSince }, jobId, from)
    const onFailure = (error: unknown) => log.warn({ err: error, jobId }, 'failed to read the new events of a job')
    const known = feeds.find(jobId, accountId)
    if (known) return known
    const feed = createJobFeed({ read, from: cursor, room: rooms.of(accountId), onFailure })
    feeds.add(jobId, accountId, feed)
    return feed
  }

  /** An outage of the database ends no stream, so an unanswered question counts as yes. All streams of a key share a query. */
  const isKeyLive = ({ apiKeyId }: Follower) =>
    liveKeys.get(apiKeyId, async () => (await database.accounts.findLiveApiKey(apiKeyId)) !== null).catch(() => true)

  const isSessionLive = async ({ sessionId }: Follower) =>
    sessionId === undefined || database.consoleSessions.isLive(sessionId).catch(() => true)

  const isLive = async (follower: Follower) => (await isKeyLive(follower)) && isSessionLive(follower)

  /** @returns a function that ends it */
  function onEndOf({ apiKeyId, sessionId }: Follower, check: () => void) {
    const ids = sessionId === undefined ? [apiKeyId] : [apiKeyId, sessionId]
    for (const id of ids) checks.set(id, (checks.get(id) ?? new Set()).add(check))
    return () => {
      for (const id of ids) if (checks.get(id)?.delete(check) && checks.get(id)?.size === 0) checks.delete(id)
    }
  }

  /** Yields null as a heartbeat, at once and then regularly. Ends after the batch with `end`, or without one when cut. */
  async function* news(follower: Follower): AsyncGenerator<Batch | null> {
    const { jobId, accountId, signal } = follower
    const feed = feedOf(follower)
    let wake: () => void = () => undefined
    let mustCheck = false
    const offEnds = onEndOf(follower, () => {
      mustCheck = true
      wake()
    })
    const leave = feed.join(() => wake())
    const onAbort = () => wake()
    signal.addEventListener('abort', onAbort)
    try {
      yield null
      let { cursor } = follower
      for (let seenBeats = heartbeats; !isClosed && !signal.aborted && !feed.isGone();) {
        const version = feed.version()
        if (mustCheck) {
          mustCheck = false
          if (!(await isLive(follower))) return
        }
        const batch = await feed.after(cursor)
        if (batch) {
          // A revoked key is told nothing more, even if its notification is late.
          if (!(await isKeyLive(follower))) return
          if (batch.messages.length > 0 || batch.end) yield batch
          if (batch.end) return
          cursor = batch.after
        } else if (seenBeats !== heartbeats) {
          seenBeats = heartbeats
          if (!(await isLive(follower))) return
          yield null
        } else if (version === feed.version() && !mustCheck && !signal.aborted)
          await new Promise<void>((resolve) => (wake = resolve))
      }
    } finally {
      signal.removeEventListener('abort', onAbort)
      offEnds()
      leave()
      if (feed.followerCount() === 0 && feeds.find(jobId, accountId) === feed) {
        feeds.remove(jobId, accountId)
        feed.close()
      }
      followers.remove(accountId)
    }
  }

  return {
    /** The caller iterates over the answer, which frees the follower's place. @throws ServiceError quota_exceeded, unavailable */
    follow(follower: Follower): AsyncGenerator<Batch | null> {
      followers.add(follower.accountId)
      return news(follower)
    },

    /** What the feeds of an account keep. */
    keptBytes: rooms.bytesOf,

    /** Ends every stream. Clients continue at another process. */
    close() {
      isClosed = true
      offJob()
      offEnd()
      clearInterval(beating)
      wakeAll()
    },
  }
}

function createFollowerCount(maxOfAccount: number) {
  const counts = new Map<string, number>()
  let total = 0
  return {
    add(accountId: string) {
      const count = counts.get(accountId) ?? 0
      if (count >= maxOfAccount)
        throw new ServiceError(
          'quota_exceeded',
          `This account follows ${maxOfAccount} streams of jobs, the most that it may. Close a stream, or poll GET /v1/train/jobs/{id}.`,
          { retryAfterSeconds },
        )
      if (total >= maxFollowers)
        throw new ServiceError(
          'unavailable',
          `This process serves ${maxFollowers} streams of jobs, the most that it may. Try again in a while.`,
          { retryAfterSeconds },
        )
      counts.set(accountId, count + 1)
      total++
    },
    remove(accountId: string) {
      const left = (counts.get(accountId) ?? 1) - 1
      if (left > 0) counts.set(accountId, left)
      else counts.delete(accountId)
      total--
    },
  }
}
