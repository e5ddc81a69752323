import { fineTuneWorkflowId } from '../../../../src/domain/identifiers.ts'
import { ServiceError } from '../../../../src/domain/service-error.ts'
import type { Attempt } from '../../../../src/domain/training-job.ts'
import type { Connection, InMemory } from './database.ts'
import { addMessages } from './outbox.ts'
import type { Rows } from './tables.ts'
import type { Transaction } from './transactions.ts'

type Row = Rows['attempt']
type Position = { jobId: number; number: number }

const minuteMs = 60_000

export const attempts = (db: Connection): InMemory<'attempts'> => ({
  findByOrdinal: (jobId, generation, ordinal) =>
    db.run('attempts.findByOrdinal', (tx) => {
      const isIt = (row: Row) => row.jobId === jobId && row.generation === generation && row.ordinal === ordinal
      return plain(tx.find('attempt', isIt))
    }),

  get: ({ jobId, number }) =>
    db.run('attempts.get', (tx) => {
      const attempt = plain(tx.find('attempt', isAt({ jobId, number })))
      if (!attempt) throw new ServiceError('not_found', `There is no attempt ${number} of job ${jobId}.`)
      return attempt
    }),

  async open({ jobId, ...attempt }) {
    const fencedAt = new Date()
    await db.run('attempts.open, fence', (tx) =>
      tx.update(
        'attempt',
        (row) => row.jobId === jobId && row.fencedAt === null,
        () => ({ fencedAt }),
      ),
    )
    await db.run('attempts.open, make newest', (tx) =>
      tx.updateOne(
        'trainingJob',
        ({ id }) => id === jobId,
        () => ({ currentAttempt: attempt.number }),
      ),
    )
    return db.run('attempts.open', async (tx) => {
      const row = { ...unopened, ...attempt, jobId, createdAt: tx.now }
      return withoutToken(await tx.insert('attempt', row))
    })
  },

  async grantSlots(slots, askingJobId = null) {
    await db.run('attempts.grantSlots, lock', (tx) => tx.lock('advisory', 'slots'))
    const told = await db.run('attempts.grantSlots', async (tx) => {
      const running = runningByAccount(tx)
      const free = (slots ?? Infinity) - [...running.values()].reduce((sum, count) => sum + count, 0)
      const waiting = tx
        .all('attempt', (row) => row.grantedAt === null && row.releasedAt === null && row.fencedAt === null)
        .toSorted(byAge)
        .map((row) => ({ row, turn: countOne(running, row.accountId), servedMs: lastSlotMs(tx, row.accountId) }))
      const chosen = waiting
        .toSorted((a, b) => a.turn - b.turn || a.servedMs - b.servedMs || byAge(a.row, b.row))
        .slice(0, Math.max(0, free))
      const ids = new Set(chosen.map(({ row }) => row.id))
      const granted = await tx.update(
        'attempt',
        ({ id }) => ids.has(id),
        () => ({ grantedAt: tx.now }),
      )
      return signalSlots(
        tx,
        granted.filter(({ jobId }) => jobId !== askingJobId),
      )
    })
    if (told > 0) await db.run('attempts.grantSlots, notify', (tx) => tx.notify('outbox'))
  },

  async resendSlotSignals(afterMs = minuteMs) {
    const told = await db.run('attempts.resendSlotSignals', (tx) => {
      const now = tx.now.getTime()
      const isDue = ({ jobId, grantedAt, heardAt, releasedAt }: Row) => {
        if (grantedAt === null || releasedAt !== null || latest(grantedAt, heardAt) > now - afterMs) return false
        const halfwayMs = now - (now - grantedAt.getTime()) / 2
        const messages = tx.all('outboxMessage', (row) => row.workflowId === fineTuneWorkflowId(jobId))
        return !messages.some(({ kind, createdAt }) => kind === 'slot' && createdAt.getTime() > halfwayMs)
      }
      return signalSlots(tx, tx.all('attempt', isDue))
    })
    if (told > 0) await db.run('attempts.resendSlotSignals, notify', (tx) => tx.notify('outbox'))
  },

  setRunUid: (position, runUid) =>
    db.run('attempts.setRunUid', async (tx) => {
      await tx.updateOne('attempt', isAt(position), () => ({ runUid }))
    }),

  setStart: (position, { artifactId, step, at }) =>
    db.run('attempts.setStart', async (tx) => {
      const isIt = (row: Row) => isAt(position)(row) && row.claimedAt === null
      await tx.update('attempt', isIt, () => ({ fromArtifactId: artifactId, fromStep: step, fromAt: at }))
    }),

  async claim(tokenHash, claimId) {
    const claimed = await db.run('attempts.claim', async (tx) => {
      const row = await lockByToken(tx, tokenHash)
      if (!row || (row.claimId !== null && row.claimId !== claimId)) return null
      const mayClaim = isWritable(tx, row) && tx.get('trainingJob', row.jobId)?.cancelRequestedAt === null
      if (!mayClaim) return null
      const { claimedAt, phase } = row
      const news = { claimId, claimedAt: claimedAt ?? tx.now, heardAt: tx.now, phase: phase ?? 'LOADING DATA' } as const
      return { id: tx.put('attempt', { ...row, ...news }).id, first: row.claimId === null }
    })
    return claimed && { attempt: await readBack(db, 'attempts.claim', claimed.id), first: claimed.first }
  },

  async holdUnfenced(tokenHash) {
    const id = await db.run('attempts.holdUnfenced', async (tx) => {
      const row = await lockByToken(tx, tokenHash)
      return row && isWritable(tx, row) && row.claimId !== null ? row.id : null
    })
    return id === null ? null : readBack(db, 'attempts.holdUnfenced', id)
  },

  exists: (tokenHash) => db.run('attempts.exists', (tx) => tx.find('attempt', hasToken(tokenHash)) !== null),

  async update(position, data) {
    await db.run('attempts.update', (tx) => tx.updateOne('attempt', isAt(position), () => data))
    await db.run('attempts.update, hear', (tx) =>
      tx.update('attempt', isAt(position), ({ phase, workingAt }) => ({
        heardAt: tx.now,
        workingAt: workingAt ?? (phase !== null && phase !== 'LOADING DATA' ? tx.now : null),
      })),
    )
  },

  recordEnd: (position, end) =>
    db.run('attempts.recordEnd', async (tx) => {
      const isIt = (row: Row) => isAt(position)(row) && row.cause === null && row.releasedAt === null
      await tx.update('attempt', isIt, () => end)
    }),

  /** Nobody here follows a job. */
  noteLog: () => db.run('attempts.noteLog', () => undefined),

  lookAt: ({ jobId, number }) =>
    db.run('attempts.lookAt', (tx) => {
      const row = tx.find('attempt', isAt({ jobId, number }))
      if (!row) throw new Error(`there is no attempt ${number} of job ${jobId}`)
      const artifacts = tx.all('artifact', (each) => each.jobId === jobId && each.attempt === number)
      const heardMs = latest(row.heardAt, ...artifacts.flatMap((each) => [each.createdAt, each.committedAt]))
      const ranForMs = ({ claimedAt }: Row, to: Date) => (claimedAt === null ? 0 : to.getTime() - claimedAt.getTime())
      const ofGeneration = tx.all('attempt', (each) => each.jobId === jobId && each.generation === row.generation)
      return {
        phase: row.phase,
        ranForMs: ranForMs(row, tx.now),
        silentForMs: heardMs === 0 ? null : tx.now.getTime() - heardMs,
        medianStepMs: medianStepMs(tx, jobId),
        jobRanForMs: ofGeneration.reduce((sum, each) => sum + ranForMs(each, each.endedAt ?? tx.now), 0),
        ...newestStep(tx, jobId),
      }
    }),

  othersWait: (position) =>
    db.run('attempts.othersWait', (tx) => {
      const mine = tx.find('attempt', isAt(position))
      if (!mine) return false
      const running = runningByAccount(tx)
      const count = ({ accountId }: Row) => running.get(accountId) ?? 0
      const hasWaited = ({ grantedAt }: Row) => grantedAt === null || grantedAt.getTime() < tx.now.getTime() - minuteMs
      return tx
        .all('attempt', (row) => row.jobId !== mine.jobId && row.releasedAt === null && row.fencedAt === null)
        .some(
          (row) =>
            row.claimedAt === null && hasWaited(row) && (row.accountId === mine.accountId || count(row) < count(mine)),
        )
    }),

  fence(position) {
    const fencedAt = new Date()
    return db.run('attempts.fence', async (tx) => {
      await tx.update(
        'attempt',
        (row) => isAt(position)(row) && row.fencedAt === null,
        () => ({ fencedAt }),
      )
    })
  },

  async release(position, end) {
    await db.run('attempts.release', (tx) =>
      tx.update(
        'attempt',
        (row) => isAt(position)(row) && row.releasedAt === null,
        () => ({
          ...end,
          endedAt: tx.now,
          fencedAt: tx.now,
          releasedAt: tx.now,
        }),
      ),
    )
    await db.run('attempts.release, notify', (tx) => tx.notify('slots'))
  },

  listUnreleased: (jobId, generation) =>
    db.run('attempts.listUnreleased', (tx) =>
      tx
        .all('attempt', (row) => row.jobId === jobId && row.releasedAt === null && row.generation <= generation)
        .toSorted((a, b) => a.number - b.number)
        .map(withoutToken),
    ),
})

const unopened = {
  ...{ runUid: null, claimId: null, phase: null, fromArtifactId: null, fromStep: 0, fromAt: null, lastStep: null },
  ...{
    savedStep: null,
    savedAt: null,
    truncatedRows: null,
    rowCounts: null,
    reportedCause: null,
    cause: null,
    exitCode: null,
    message: null,
  },
  ...{
    queuedAt: null,
    grantedAt: null,
    claimedAt: null,
    workingAt: null,
    heardAt: null,
    endedAt: null,
    fencedAt: null,
    releasedAt: null,
  },
}

const withoutToken = ({ tokenHash: _tokenHash, queuedAt: _queuedAt, ...attempt }: Row): Attempt => attempt
const plain = (row: Row | null) => row && withoutToken(row)

const isAt = (position: Position) => (row: Row) => row.jobId === position.jobId && row.number === position.number
const hasToken = (tokenHash: Uint8Array) => (row: Row) => Buffer.compare(row.tokenHash, tokenHash) === 0

const latest = (...times: (Date | null)[]) => Math.max(0, ...times.map(Number))

const queuedMs = ({ queuedAt, createdAt }: Row) => Number(queuedAt ?? createdAt)
const byAge = (a: Row, b: Row) => queuedMs(a) - queuedMs(b) || (a.id < b.id ? -1 : 1)

async function lockByToken(tx: Transaction, tokenHash: Uint8Array): Promise<Row | null> {
  const found = tx.find('attempt', hasToken(tokenHash))
  if (!found) return null
  await tx.lock('attempt', found.id)
  return tx.get('attempt', found.id)
}

/** Whether it is the newest of its job, neither fenced nor released. */
const isWritable = (tx: Transaction, { jobId, number, fencedAt, releasedAt }: Row) =>
  number === tx.get('trainingJob', jobId)?.currentAttempt && fencedAt === null && releasedAt === null

/** The real repository also reads the row in a second statement. */
const readBack = (db: Connection, name: string, id: string): Promise<Attempt> =>
  db.run(`${name}, read back`, (tx) => withoutToken(tx.get('attempt', id) as Row))

function runningByAccount(tx: Transaction): Map<string, number> {
  const running = new Map<string, number>()
  for (const row of tx.all('attempt', ({ grantedAt, releasedAt }) => grantedAt !== null && releasedAt === null))
    countOne(running, row.accountId)
  return running
}

/** 0 if the account never got a slot. */
const lastSlotMs = (tx: Transaction, accountId: string) =>
  Math.max(
    0,
    ...tx.all('attempt', (row) => row.accountId === accountId).map(({ grantedAt }) => grantedAt?.getTime() ?? 0),
  )

function countOne(counts: Map<string, number>, key: string): number {
  const count = (counts.get(key) ?? 0) + 1
  counts.set(key, count)
  return count
}

function newestStep(tx: Transaction, jobId: number) {
  const steps = tx.all('trainingStep', (each) => each.jobId === jobId)
  const newest = steps.toSorted((a, b) => b.step - a.step)[0]
  return { step: newest?.step ?? null, loss: newest?.loss ?? null }
}

/** The median of the newest twenty steps; the mean of the two in the middle when their number is even. */
function medianStepMs(tx: Transaction, jobId: number): number | null {
  const times = tx
    .all('trainingStep', (each) => each.jobId === jobId)
    .toSorted((a, b) => b.step - a.step)
    .slice(0, 20)
    .map((each) => each.iter_time)
    .toSorted((a, b) => a - b)
  const [low, high] = [times[(times.length - 1) >> 1], times[times.length >> 1]]
  return low === undefined || high === undefined ? null : ((low + high) / 2) * 1000
}

/** @returns how many workflows are told that they have a slot */
function signalSlots(tx: Transaction, rows: readonly Row[]): number {
  const inOrder = rows.toSorted((a, b) => a.jobId - b.jobId)
  for (const { jobId, generation, number } of inOrder)
    addMessages(tx, { workflowId: fineTuneWorkflowId(jobId), kind: 'slot', generation, payload: { attempt: number } })
  return rows.length
}
