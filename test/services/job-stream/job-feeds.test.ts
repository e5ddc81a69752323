// Followers of one job in two api processes, over a database that is a list of what was committed.
import assert from 'node:assert/strict'
import { after, test } from 'node:test'
import { parseCursor, startCursor, type JobCursor } from '../../../src/domain/job-cursor.ts'
import { documentedDefaults } from '../../../src/domain/training-args.ts'
import { createLog } from '../../../src/log.ts'
import type { JobNews } from '../../../src/repositories/job-feed.ts'
import { createJobFeeds, type JobFeeds } from '../../../src/services/job-stream/job-feeds.ts'
import type { Ctx } from '../../../src/services/context.ts'
import { followTrainingJob } from '../../../src/services/job-stream/follow.ts'
import type { Batch } from '../../../src/services/job-stream/job-feed.ts'
import { until } from '../../support/eventually.ts'
import { contextOf } from '../../support/service-context.ts'

type Follower = { told: string[]; lastId: () => string; leave: () => Promise<void>; isOver: Promise<boolean> }

function createWorld({ maxOfAccount = 1000 } = {}) {
  const job = { status: 'TRAINING MODEL', statusReason: null, statusMessage: null, modelName: null } as JobNews
  const steps: JobNews['steps'] = []
  const listeners = new Set<(jobId: number | null) => void>()
  const endListeners = new Set<(id: string | null) => void>()
  const processes: JobFeeds[] = []
  const liveSessions = new Set<string>()
  const revokedKeys = new Set<string>()
  let [log, sequence, reads, isAway] = ['', 0, 0, false]
  after(() => processes.forEach((each) => each.close()))

  const since = async (_jobId: number, cursor: JobCursor, limit: number): Promise<JobNews> => {
    reads++
    await Promise.resolve()
    if (isAway) throw new Error('the database is away')
    const newest = steps.at(-1)
    return {
      ...job,
      ...{ stateSequence: 0, currentAttempt: 1, args: documentedDefaults, trainRows: null, events: [] },
      steps: steps.filter((each) => each.sequence > cursor.sequence).slice(0, limit),
      newestStep: newest ?? null,
      log: cursor.attempt === 1 ? { bytes: log.length, isReleased: job.status === 'COMPLETED' } : null,
    }
  }
  const readRange = async (_key: string, { offset, limit }: { offset: number; limit: number }) => ({
    bytes: Buffer.from(log).subarray(offset, offset + limit),
    sizeBytes: log.length,
  })
  const newest = async (): Promise<JobCursor> => ({
    ...startCursor,
    ...{ sequence, step: sequence, progress: sequence, offset: log.length },
  })
  const announce = (jobId: number | null = 7) => listeners.forEach((listener) => listener(jobId))
  const step = () => {
    sequence++
    steps.push({ sequence, attempt: 1, at: new Date(sequence).toISOString(), row: { step: sequence, loss: 1 } })
  }

  return {
    job,
    liveSessions,
    revokedKeys,
    /** What the service asks before it follows. */
    ctx: (jobFeeds: JobFeeds, sessionId?: string) =>
      contextOf({
        ...{ accountId: 'a', apiKeyId: 'k', sessionId },
        deps: {
          ...{ jobFeeds, storage: { stat: async () => ({ sizeBytes: log.length }) } },
          database: { trainingJobs: { find: async () => ({}) }, jobFeed: { newest } },
        },
      }),
    reads: () => reads,
    announceEnd: (id: string) => endListeners.forEach((listener) => listener(id)),
    setAway: (away: boolean) => (isAway = away),
    announce,
    report(count: number) {
      for (let each = 0; each < count; each++) step()
      announce()
    },
    write(text: string) {
      log += text
      announce()
    },
    process(): JobFeeds {
      const database = {
        jobFeed: { since },
        accounts: { findLiveApiKey: async (id: string) => (revokedKeys.has(id) ? null : {}) },
        consoleSessions: { isLive: async (id: string) => liveSessions.has(id) },
      }
      const onJob = (listener: (jobId: number | null) => void) => {
        listeners.add(listener)
        return () => void listeners.delete(listener)
      }
      const onAccessEnd = (listener: (id: string | null) => void) => {
        endListeners.add(listener)
        return () => void endListeners.delete(listener)
      }
      const feeds = createJobFeeds({
        ...{ database, storage: { readRange }, notifications: { onJob, onAccessEnd } },
        ...{ log: createLog('test', 'silent'), maxOfAccount },
      } as unknown as Parameters<typeof createJobFeeds>[0])
      processes.push(feeds)
      return feeds
    },
  }
}

/** Notes what it is told: metrics as numbers, lines as they are. */
function follow(feeds: JobFeeds, lastId?: string, accountId = 'a', jobId = 7): Follower {
  const leaving = new AbortController()
  const cursor = (lastId === undefined ? startCursor : parseCursor(lastId)) ?? assert.fail('no cursor')
  const who = { accountId, apiKeyId: 'k', sessionId: undefined }
  return noting(feeds.follow({ ...who, jobId, cursor, signal: leaving.signal }), leaving, lastId)
}

/** Follows as a request does. */
async function request(ctx: Ctx, lastEventId?: string): Promise<Follower> {
  const leaving = new AbortController()
  const input = { jobId: 7, lastEventId, isFromNow: false }
  return noting(await followTrainingJob({ ctx, input, signal: leaving.signal }), leaving, lastEventId)
}

function noting(batches: AsyncGenerator<Batch | null>, leaving: AbortController, lastId?: string): Follower {
  const told: string[] = []
  let last = lastId ?? ''
  const note = ({ messages }: Batch) => {
    for (const { id, message } of messages) {
      last = id
      if (message.event === 'metric') told.push(String(message.data.row.step))
      if (message.event === 'log') told.push(message.data.line)
    }
  }
  const reading = (async () => {
    for await (const batch of batches) {
      if (batch) note(batch)
      if (batch?.end) return true
    }
    return false
  })()
  const leave = async () => {
    leaving.abort()
    await reading
  }
  return { told, lastId: () => last, leave, isOver: reading }
}

const numbers = (from: number, to: number) => Array.from({ length: to - from + 1 }, (_, at) => String(from + at))

test('a follower that changes to another process misses nothing and gets nothing twice', async () => {
  const world = createWorld()
  const [one, other] = [world.process(), world.process()]
  world.report(5)
  const first = follow(one)
  await until('the first five', () => first.told.length === 5)
  await first.leave()
  world.report(1200)
  world.write('a line\nhalf a ')
  const second = follow(other, first.lastId())
  await until('the next and a line', () => second.told.length === 1201)
  assert.deepEqual(second.told, [...numbers(6, 1205), 'a line'])
  await second.leave()
  Object.assign(world.job, { status: 'COMPLETED' })
  world.write('line')
  const third = follow(one, second.lastId())
  assert.equal(await third.isOver, true)
  assert.deepEqual(third.told, ['half a line'])
})

test('a hundred followers of a job cost the reads of a single follower', async () => {
  const world = createWorld()
  const feeds = world.process()
  const followers = Array.from({ length: 100 }, () => follow(feeds))
  for (let count = 1; count <= 5; count++) {
    world.report(1)
    await until(`step ${count} at all of them`, () => followers.every(({ told }) => told.length === count))
  }
  // A read for each report and those that were under way when it came.
  assert.ok(world.reads() <= 20, `${world.reads()} reads`)
  const late = follow(feeds)
  await until('what the others had', () => late.told.length === 5)
  assert.ok(world.reads() <= 20, 'the late one was served from memory')
  await Promise.all([...followers, late].map(({ leave }) => leave()))
})

test('followers that join late, behind the kept messages, get every message', async () => {
  const world = createWorld()
  const feeds = world.process()
  const first = follow(feeds)
  world.report(4000)
  await until('all', () => first.told.length === 4000)
  const [fromStart, fromMiddle] = [follow(feeds), follow(feeds, '0-100.100-0-0-1.0')]
  world.report(10)
  await until('all again', () => fromStart.told.length === 4010 && fromMiddle.told.length === 3910)
  assert.deepEqual(fromStart.told, numbers(1, 4010))
  assert.deepEqual(fromMiddle.told, numbers(101, 4010))
  await Promise.all([first, fromStart, fromMiddle].map(({ leave }) => leave()))
})

test("followers of two accounts share no feed, and an account's kept messages go with its last follower", async () => {
  const world = createWorld()
  const feeds = world.process()
  const [one, same, other] = [follow(feeds), follow(feeds), follow(feeds, undefined, 'b')]
  world.report(3)
  await until('all follow', () => [one, same, other].every(({ told }) => told.length === 3))
  const kept = () => ['a', 'b'].map((account) => feeds.keptBytes(account) > 0)
  assert.deepEqual(kept(), [true, true])
  await one.leave()
  assert.deepEqual(kept(), [true, true])
  await same.leave()
  assert.deepEqual(kept(), [false, true])
  world.report(1)
  await until('the other goes on', () => other.told.length === 4)
  await other.leave()
  assert.deepEqual(kept(), [false, false])
})

test('an account keeps 16 MiB of all its jobs in memory, and its followers miss nothing', async () => {
  const world = createWorld()
  const feeds = world.process()
  const jobs = Array.from({ length: 30 }, (_, index) => follow(feeds, undefined, 'a', index + 1))
  const lines = Array.from({ length: 20 }, (_, index) => `${index} ${'x'.repeat(50_000)}`)
  let most = 0
  for (const line of lines) {
    world.write(`${line}\n`)
    world.announce(null)
    await until('the line at all of them', () => {
      most = Math.max(most, feeds.keptBytes('a'))
      return jobs.every(({ told }) => told.at(-1) === line)
    })
  }
  assert.ok(most > 15 * 2 ** 20 && most <= 16 * 2 ** 20, `${most} bytes`)
  for (const { told } of jobs) assert.deepEqual(told, lines)
  await Promise.all(jobs.map(({ leave }) => leave()))
  assert.equal(feeds.keptBytes('a'), 0)
})

test('an outage of the database is waited out', async () => {
  const world = createWorld()
  const follower = follow(world.process())
  world.report(1)
  await until('the first', () => follower.told.length === 1)
  world.setAway(true)
  world.report(1)
  const before = world.reads()
  await until('a try', () => world.reads() > before)
  world.setAway(false)
  await until('the second', () => follower.told.length === 2)
  await follower.leave()
})

test('an account has a bounded number of followers, and a place is free once a follower has left', async () => {
  const world = createWorld({ maxOfAccount: 1 })
  const feeds = world.process()
  const only = follow(feeds)
  assert.throws(() => follow(feeds), { code: 'quota_exceeded' })
  await only.leave()
  const next = follow(feeds)
  world.report(1)
  await until('it follows', () => next.told.length === 1)
  feeds.close()
  assert.equal(await next.isOver, false, 'a process that stops ends its streams without an end')
})

test('a process has only so many followers of all accounts', async () => {
  const feeds = createWorld({ maxOfAccount: 2500 }).process()
  for (let index = 0; index < 5000; index++) void follow(feeds, undefined, `account ${index % 2}`)
  assert.throws(() => follow(feeds, undefined, 'another'), {
    code: 'unavailable',
    message: /serves 5000 streams of jobs/,
  })
  feeds.close()
})

test('a cursor ahead of the database goes on from now, and silences no follower', async () => {
  const nines = (count: number) => '9'.repeat(count)
  const huge = `${nines(15)}-${nines(15)}.${nines(10)}-${nines(15)}-${nines(15)}`
  for (const ahead of [`${huge}-1.${nines(12)}`, `${huge}-${nines(9)}.${nines(12)}`]) {
    const world = createWorld()
    const feeds = world.process()
    world.report(5)
    world.write('old\n')
    const first = await request(world.ctx(feeds), ahead)
    const second = await request(world.ctx(feeds))
    await until('what was before', () => second.told.length === 6)
    world.report(2)
    world.write('new\n')
    await until('the news at both', () => first.told.length === 3 && second.told.length === 9)
    assert.deepEqual(first.told.toSorted(), ['6', '7', 'new'])
    await Promise.all([first, second].map(({ leave }) => leave()))
  }
})

test('a step beyond the range of the database is read as the greatest', () =>
  assert.equal(parseCursor('0-1.9999999999-0-0-1.0')?.step, 2 ** 31 - 1))

test('a revoked key is told nothing more, and its stream ends without a heartbeat', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const world = createWorld()
  const follower = await request(world.ctx(world.process()))
  world.report(1)
  await until('it follows', () => follower.told.length === 1)
  let isOver = false
  void follower.isOver.then(() => (isOver = true))
  world.revokedKeys.add('k')
  await until('the stream ends', () => {
    if (!isOver) world.report(1)
    return isOver
  })
  const { length } = follower.told
  world.report(1)
  assert.equal(follower.told.length, length)
})

test('the stream of a console session ends with the session, and at a heartbeat if nothing says so', async (t) => {
  t.mock.timers.enable({ apis: ['setInterval'] })
  const world = createWorld()
  const feeds = world.process()
  for (const session of ['one', 'two', 'other']) world.liveSessions.add(session)
  const [one, two, other, ofKey] = [
    await request(world.ctx(feeds, 'one')),
    await request(world.ctx(feeds, 'two')),
    await request(world.ctx(feeds, 'other')),
    await request(world.ctx(feeds)),
  ]
  world.report(1)
  await until('all follow', () => [one, two, other, ofKey].every(({ told }) => told.length === 1))
  world.liveSessions.delete('one')
  world.announceEnd('one')
  assert.equal(await one.isOver, false)
  world.liveSessions.delete('two')
  t.mock.timers.tick(15_000)
  assert.equal(await two.isOver, false)
  world.report(1)
  await until('the others go on', () => [other, ofKey].every(({ told }) => told.length === 2))
  assert.deepEqual([one.told.length, two.told.length], [1, 1])
  world.revokedKeys.add('k')
  world.announceEnd('k')
  assert.deepEqual(await Promise.all([other.isOver, ofKey.isOver]), [false, false])
})
