// Reads the news of one job once for all its followers in this process. The newest messages stay in memory. A follower that
// is behind them reads pages by itself until it has caught up.
import { setTimeout as sleep } from 'node:timers/promises'
import { cursorText, hasReached, isBehind, type JobCursor } from '../../domain/job-cursor.ts'
import { sizeOf, type KeptRoom } from './kept-room.ts'
import { numbered, type NumberedMessage } from './messages.ts'
import type { Page, StateAtEnd } from './read-news.ts'

/** Followers at the same cursor get the same object, so that its text is made once. */
export type Batch = {
  messages: readonly NumberedMessage[]
  after: JobCursor
  /** Set in the last batch of a stream. */
  end: StateAtEnd | null
}

/** Of one feed. */
const keptMessages = 1000
const keptBytes = 1024 * 1024
/** The shortest time between two reads: reports that come faster are read together. */
const spacingMs = 50
const retryMs = 1000

export type JobFeed = ReturnType<typeof createJobFeed>

type FeedOptions = {
  /** @returns null when the job is gone */
  read: (cursor: JobCursor) => Promise<Page | null>
  /** The cursor of the first follower. */
  from: JobCursor
  room: KeptRoom
  onFailure: (error: unknown) => void
}

export function createJobFeed({ read, from, room, onFailure }: FeedOptions) {
  const wakes = new Set<() => void>()
  const kept = createKeptBatches(from, room)
  /** The running reads of followers that are behind the kept batches. */
  const reading = new Map<string, Promise<Batch | null>>()
  let end: Batch | null = null
  let isGone = false
  let isLooking = false
  let isDirty = false
  let version = 0

  function wakeAll() {
    version++
    for (const wake of wakes) wake()
  }

  async function readAll() {
    for (;;) {
      const page = await read(kept.head())
      if (page === null) isGone = true
      if (page) kept.add(page)
      end = page?.end ? { messages: [], after: page.after, end: page.end } : null
      wakeAll()
      if (page?.logFailure) throw page.logFailure
      if (!page?.hasMore) return
    }
  }

  /** Reads what is new. A call during a read makes it read once more. */
  async function look() {
    isDirty = true
    if (isLooking) return
    isLooking = true
    while (isDirty && wakes.size > 0 && !isGone) {
      isDirty = false
      try {
        await readAll()
        await sleep(spacingMs)
      } catch (error) {
        onFailure(error)
        isDirty = true
        await sleep(retryMs)
      }
    }
    isLooking = false
  }

  async function readPage(cursor: JobCursor): Promise<Batch | null> {
    // Taken before the read: what the feed learns meanwhile is not in the page.
    const level = kept.head()
    const page = await read(cursor)
    if (page === null) return null
    const isNothing = page.messages.length === 0 && !page.hasMore
    return { messages: page.messages, after: isNothing ? level : page.after, end: null }
  }

  /** Followers at one cursor share a read. */
  function readBehind(cursor: JobCursor): Promise<Batch | null> {
    const id = cursorText(cursor)
    const shared = reading.get(id) ?? readPage(cursor).finally(() => reading.delete(id))
    reading.set(id, shared)
    return shared
  }

  return {
    look: () => void look(),
    /** Rises whenever there may be more. */
    version: () => version,
    isGone: () => isGone,
    followerCount: () => wakes.size,

    /** @param wake is called whenever there may be more @returns a function that ends the following */
    join(wake: () => void): () => void {
      wakes.add(wake)
      if (wakes.size === 1) void look()
      return () => wakes.delete(wake)
    },

    wakeAll,

    /** Nobody follows the feed any more. */
    close: () => kept.close(),

    /** @returns what comes after the cursor; null when there is nothing yet */
    async after(cursor: JobCursor): Promise<Batch | null> {
      if (kept.isHead(cursor)) return end
      return kept.after(cursor) ?? (kept.covers(cursor) ? null : readBehind(cursor))
    },
  }
}

function createKeptBatches(from: JobCursor, room: KeptRoom) {
  let [base, head, headId] = [from, from, cursorText(from)]
  let [messageCount, bytes, isClosed] = [0, 0, false]
  /** Maps the cursor before each batch to the batch, in order. */
  const batches = new Map<string, Batch>()

  function hold(messages: readonly NumberedMessage[]) {
    const sizeBytes = sizeOf(messages)
    messageCount += messages.length
    bytes += sizeBytes
    room.take(sizeBytes)
  }

  function letGo(id: string, { messages, after }: Batch) {
    const sizeBytes = sizeOf(messages)
    messageCount -= messages.length
    bytes -= sizeBytes
    room.giveBack(sizeBytes)
    base = after
    batches.delete(id)
  }

  /** Keeps the newest batch, but for an account that is out of room. */
  function trim() {
    for (const [id, batch] of batches) {
      const isFull = batches.size > 1 && (messageCount > keptMessages || bytes > keptBytes)
      if (!isFull && !room.isOver()) return
      letGo(id, batch)
    }
  }

  /** Serves a follower whose cursor is not at the beginning of a batch, such as one that comes from another process. */
  function pick(cursor: JobCursor): Batch | null {
    const wanted = [...batches.values()]
      .flatMap(({ messages }) => messages.map(({ message }) => message))
      .filter(({ move }) => isBehind(cursor, move))
    const [messages, at] = numbered(wanted, cursor)
    if (hasReached(head, at)) return { messages, after: head, end: null }
    return messages.length === 0 ? null : { messages, after: at, end: null }
  }

  return {
    head: () => head,
    isHead: (cursor: JobCursor) => cursorText(cursor) === headId,
    covers: (cursor: JobCursor) => hasReached(cursor, base),

    add({ messages, after }: Page) {
      const id = cursorText(after)
      if (id === headId || isClosed) return
      batches.set(headId, { messages, after, end: null })
      hold(messages)
      ;[head, headId] = [after, id]
      trim()
    },

    /** Gives the room back. A read that is under way adds nothing more. */
    close() {
      isClosed = true
      for (const [id, batch] of batches) letGo(id, batch)
    },

    after: (cursor: JobCursor): Batch | null =>
      batches.get(cursorText(cursor)) ?? (hasReached(cursor, base) ? pick(cursor) : null),
  }
}
