import { ServiceError } from '../../../../src/domain/service-error.ts'
import { isTerminal, mayMove } from '../../../../src/domain/training-job-status.ts'
import type { TrainingJob } from '../../../../src/domain/training-job.ts'
import type { NewJobEvent } from '../../../../src/repositories/job-events.ts'
import type { MoveResult, StatusMove } from '../../../../src/repositories/training-jobs.ts'
import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'
import type { Transaction } from './transactions.ts'

type Row = Rows['trainingJob']

export const trainingJobs = (db: Connection): InMemory<'trainingJobs'> => ({
  find: (accountId, id) => find(db, accountId, id),
  get: (id) => get(db, id),

  async hold(id) {
    await db.run('trainingJobs.hold', (tx) => tx.lock('trainingJob', id))
    return get(db, id)
  },

  async lock(accountId, id) {
    await db.run('trainingJobs.lock', async (tx) => {
      if (tx.get('trainingJob', id)?.accountId === accountId) await tx.lock('trainingJob', id)
    })
    return find(db, accountId, id)
  },

  requestCancel(id, message, { isPause } = { isPause: false }) {
    const now = new Date()
    return db.run('trainingJobs.requestCancel', async (tx) => {
      const isIt = (job: Row) => job.id === id && !isTerminal(job.status) && job.cancelRequestedAt === null
      const intent = { cancelRequestedAt: now, pauseRequestedAt: isPause ? now : null }
      const said = { statusReason: 'cancelling', statusMessage: message }
      return (await tx.update('trainingJob', isIt, () => ({ ...intent, ...said }))).length === 1
    })
  },

  forgetPause: (id) =>
    db.run('trainingJobs.forgetPause', async (tx) => {
      await tx.updateOne(
        'trainingJob',
        (job) => job.id === id,
        () => ({ pauseRequestedAt: null }),
      )
    }),

  resume: (id, message) =>
    db.run('trainingJobs.resume', async (tx) =>
      plain(
        await tx.updateOne(
          'trainingJob',
          (job) => job.id === id,
          ({ generation, resumeCount }) => ({
            ...({ status: 'QUEUED', statusReason: 'resumed', statusMessage: message } as const),
            ...{ generation: generation + 1, resumeCount: resumeCount + 1 },
            ...{ cancelRequestedAt: null, pauseRequestedAt: null, finishedAt: null },
          }),
        ),
      ),
    ),

  move: (move) => moveJob(db, move),

  explain: (...of) => explain(db, ...of),

  async queue(move) {
    const moved = await moveJob(db, { ...move, to: 'QUEUED', actor: 'workflow' })
    if (moved === 'already') await explain(db, move.jobId, move.generation, 'QUEUED', move.reason, move.message)
  },

  countResume: (id) =>
    db.run('trainingJobs.countResume', async (tx) => {
      await tx.updateOne(
        'trainingJob',
        (job) => job.id === id,
        ({ resumeCount }) => ({ resumeCount: resumeCount + 1 }),
      )
    }),

  setPreparedData: (job, preparedData) =>
    db.run('trainingJobs.setPreparedData', async (tx) => {
      const updated = await tx.update(
        'trainingJob',
        (row) => isOpenRun(row, job) && row.preparedData === null,
        () => ({ preparedData }),
      )
      return updated.length === 1
    }),

  movePreparedData: (job, preparedData) =>
    db.run('trainingJobs.movePreparedData', async (tx) => {
      await tx.update(
        'trainingJob',
        (row) => isOpenRun(row, job),
        () => ({ preparedData }),
      )
    }),

  findPreparedData: (datasetVersionId, sourceEtag) =>
    db.run('trainingJobs.findPreparedData', (tx) => {
      const isIt = ({ id, spec, preparedData, ...job }: Row) =>
        job.datasetVersionId === datasetVersionId &&
        preparedData?.sourceEtag === sourceEtag &&
        spec.evaluationKey === null &&
        preparedData.train.key.startsWith(`jobs/${id}/`)
      const found = tx.all('trainingJob', isIt).toSorted((a, b) => b.id - a.id)[0]
      return found?.preparedData ? { owner: found.id, prepared: found.preparedData } : null
    }),

  /** Nothing here removes prepared rows. */
  holdPreparedData: (id) =>
    db.run('trainingJobs.holdPreparedData', async (tx) => {
      await tx.lock('trainingJob', id)
      return (tx.get('trainingJob', id)?.preparedData ?? null) !== null
    }),
})

const plain = ({ apiKeyId: _apiKeyId, ...job }: Row): TrainingJob => job

const isOpenRun = (row: Row, { id, generation }: Pick<TrainingJob, 'id' | 'generation'>) =>
  row.id === id && row.generation === generation && !isTerminal(row.status)

const find = (db: Connection, accountId: string, id: number): Promise<TrainingJob | null> =>
  db.run('trainingJobs.find', (tx) => {
    const job = tx.get('trainingJob', id)
    return job?.accountId === accountId ? plain(job) : null
  })

const get = (db: Connection, id: number): Promise<TrainingJob> =>
  db.run('trainingJobs.get', (tx) => {
    const job = tx.get('trainingJob', id)
    if (!job) throw new ServiceError('not_found', `There is no job ${id}.`)
    return plain(job)
  })

async function moveJob(
  db: Connection,
  { jobId, generation, to, reason, message, attempt = null, modelName, actor }: StatusMove,
): Promise<MoveResult> {
  const finishedAt = new Date()
  const isMoved = await db.run('trainingJobs.move', async (tx) => {
    const isCancelling = (row: Row) => row.cancelRequestedAt !== null && to !== 'CANCELLED'
    const isIt = (row: Row) =>
      isOpenRun(row, { id: jobId, generation }) && mayMove(row.status, to) && !isCancelling(row)
    const moved = await tx.update('trainingJob', isIt, () => ({
      ...{ status: to, statusReason: reason, statusMessage: message },
      ...(modelName === undefined ? {} : { modelName }),
      ...(isTerminal(to) ? { finishedAt } : {}),
    }))
    return moved.length === 1
  })
  if (isMoved) {
    const event = { kind: 'status', status: to, reason, message, attempt, actor } as const
    await db.run('trainingJobs.move, event', (tx) => addEvents(tx, jobId, event))
    return 'moved'
  }
  const job = await get(db, jobId)
  if (job.generation !== generation) return 'refused'
  if (job.status === to) return 'already'
  return job.cancelRequestedAt ? 'cancelling' : 'refused'
}

const explain = (
  db: Connection,
  jobId: number,
  generation: number,
  status: TrainingJob['status'],
  statusReason: string | null,
  statusMessage: string | null,
): Promise<void> =>
  db.run('trainingJobs.explain', async (tx) => {
    const isIt = (row: Row) =>
      row.id === jobId && row.generation === generation && row.status === status && row.cancelRequestedAt === null
    await tx.update('trainingJob', isIt, () => ({ statusReason, statusMessage }))
  })

export const jobEvents = (db: Connection): InMemory<'jobEvents'> => ({
  add: (jobId, ...events) => db.run('jobEvents.add', (tx) => addEvents(tx, jobId, ...events)),

  list: (jobId, { after, limit }) =>
    db.run('jobEvents.list', (tx) =>
      tx
        .all('jobEvent', (event) => event.jobId === jobId && (after === null || event.id > after))
        .toSorted((a, b) => Number(a.id - b.id))
        .slice(0, limit)
        .map(({ jobId: _jobId, id, ...event }) => ({ ...event, id: String(id) })),
    ),
})

export function addEvents(tx: Transaction, jobId: number, ...events: NewJobEvent[]) {
  const empty = { status: null, attempt: null, reason: null, message: null, at: tx.now }
  for (const event of events) tx.put('jobEvent', { ...empty, ...event, jobId, id: BigInt(tx.next('jobEvent')) })
}

export const trainingSteps = (db: Connection): InMemory<'trainingSteps'> => ({
  upsertMany: (jobId, attempt, steps) =>
    db.run('trainingSteps.upsertMany', async (tx) => {
      for (const step of steps) {
        await tx.lock('trainingStep', jobId, step.step)
        tx.put('trainingStep', { ...step, jobId, attempt })
      }
    }),

  deleteAfter: (jobId, step) =>
    db.run('trainingSteps.deleteAfter', (tx) =>
      tx.delete('trainingStep', (row) => row.jobId === jobId && row.step > step),
    ),

  since: (jobId, { attempt, step }) =>
    db.run('trainingSteps.since', (tx) => {
      const claimed = tx.all('attempt', (row) => row.jobId === jobId && row.claimedAt !== null && row.mode === 'train')
      const starts = claimed.filter(({ number }) => number > attempt).map(({ fromStep }) => fromStep)
      const keptStep = Math.min(step, ...starts)
      const steps = tx
        .all('trainingStep', (row) => row.jobId === jobId && row.step > keptStep)
        .toSorted((a, b) => a.step - b.step)
        .map(({ jobId: _jobId, attempt: _attempt, ...each }) => each)
      return { attempt: Math.max(0, ...claimed.map(({ number }) => number)), keptStep, steps }
    }),
})
