import { Prisma } from '../../generated/prisma/client.ts'
import { mayMove, openStatuses, type TrainingJobStatus } from '../domain/training-job-status.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { PreparedData, TrainingJob, TrainingJobSummary, TrainingSpec } from '../domain/training-job.ts'
import type { Connection } from './database.ts'
import type { RunStatement } from './prepared-sql.ts'
import { findJob, findJobs, listJobs } from './training-job-statements.ts'

export type StatusMove = {
  jobId: number
  generation: number
  to: TrainingJobStatus
  reason: string | null
  message: string | null
  attempt?: number | null
  modelName?: string
  actor: string
}

/** `already`: it has that status. `cancelling`: an accepted cancel stands against it. `refused`: another generation, or not a move of the table. */
export type MoveResult = 'moved' | 'already' | 'cancelling' | 'refused'

export const createTrainingJobRepository = (db: Connection, run: RunStatement) => ({
  async find(accountId: string, id: number): Promise<TrainingJob | null> {
    const [job] = await run<TrainingJob>(findJob, [accountId, id])
    return job ?? null
  },

  /** Newest first. */
  findMany: (accountId: string, ids: readonly number[]): Promise<TrainingJob[]> =>
    run<TrainingJob>(findJobs, [accountId, ids]),

  /** Of any account; for activities, which are told the id by the workflow. @throws ServiceError not_found */
  async get(id: number): Promise<TrainingJob> {
    const row = await db.trainingJob.findUnique({ where: { id } })
    if (!row) throw new ServiceError('not_found', `There is no job ${id}.`)
    return plain(row)
  },

  /** Holds the row until the transaction ends; for activities. */
  async hold(id: number): Promise<TrainingJob> {
    await db.$queryRaw`select from training_jobs where id = ${id} for update`
    return this.get(id)
  },

  /** Newest first. `after` is the id of the last job of the page before, of the same account. */
  list: (
    accountId: string,
    { limit, after, status }: { limit: number; after: number | null; status: TrainingJobStatus | null },
  ): Promise<TrainingJobSummary[]> =>
    run(listJobs({ isAfter: after !== null, isFiltered: status !== null }), [
      accountId,
      limit,
      ...(after === null ? [] : [after]),
      ...(status === null ? [] : [status]),
    ]),

  /** Holds the row until the transaction ends: commands to one job take turns. */
  async lock(accountId: string, id: number): Promise<TrainingJob | null> {
    await db.$queryRaw`select from training_jobs where id = ${id} and account_id = ${accountId}::uuid for update`
    return this.find(accountId, id)
  },

  /** Open ones without an accepted cancel. */
  async listCancellable(accountId: string, limit: number): Promise<number[]> {
    const rows = await db.trainingJob.findMany({
      where: { accountId, status: { in: openStatuses }, cancelRequestedAt: null },
      select: { id: true },
      take: limit,
    })
    return rows.map(({ id }) => id)
  },

  /** Compare-and-set of the accepted intent. @returns false when the job is not open */
  async requestCancel(
    id: number,
    message: string,
    { isPause }: { isPause: boolean } = { isPause: false },
  ): Promise<boolean> {
    const now = new Date()
    const { count } = await db.trainingJob.updateMany({
      where: { id, status: { in: openStatuses }, cancelRequestedAt: null },
      data: {
        cancelRequestedAt: now,
        pauseRequestedAt: isPause ? now : null,
        statusReason: 'cancelling',
        statusMessage: message,
      },
    })
    return count === 1
  },

  /** A pause becomes a plain cancel. */
  async forgetPause(id: number) {
    await db.trainingJob.update({ where: { id }, data: { pauseRequestedAt: null } })
  },

  /** The accepted resume: back to QUEUED, one more generation, one more resume. The caller holds the lock and has checked. */
  async resume(id: number, message: string): Promise<TrainingJob> {
    const data = {
      status: 'QUEUED',
      statusReason: 'resumed',
      statusMessage: message,
      generation: { increment: 1 },
      resumeCount: { increment: 1 },
      cancelRequestedAt: null,
      pauseRequestedAt: null,
      finishedAt: null,
    }
    return plain(await db.trainingJob.update({ where: { id }, data }))
  },

  /** Compare-and-set along the table of moves, with its event. */
  async move({ jobId, generation, to, reason, message, attempt, modelName, actor }: StatusMove): Promise<MoveResult> {
    const { count } = await db.trainingJob.updateMany({
      where: {
        id: jobId,
        generation,
        // An end is left by an accepted resume alone, never by a step that comes late.
        status: { in: openStatuses.filter((from) => mayMove(from, to)) },
        // Once a cancel is accepted, CANCELLED is the only way on.
        ...(to === 'CANCELLED' ? {} : { cancelRequestedAt: null }),
      },
      data: {
        status: to,
        statusReason: reason,
        statusMessage: message,
        ...(modelName === undefined ? {} : { modelName }),
        ...(openStatuses.includes(to) ? {} : { finishedAt: new Date() }),
      },
    })
    if (count === 1) {
      await db.jobEvent.create({
        data: { jobId, kind: 'status', status: to, reason, message, attempt: attempt ?? null, actor },
      })
      return 'moved'
    }
    const job = await this.get(jobId)
    if (job.generation !== generation) return 'refused'
    if (job.status === to) return 'already'
    return job.cancelRequestedAt ? 'cancelling' : 'refused'
  },

  /** Says why an open job waits, without moving it. */
  async explain(
    jobId: number,
    generation: number,
    status: TrainingJobStatus,
    reason: string | null,
    message: string | null,
  ) {
    await db.trainingJob.updateMany({
      where: { id: jobId, generation, status, cancelRequestedAt: null },
      data: { statusReason: reason, statusMessage: message },
    })
  },

  /** Back to, or still in, the queue. A cancel stands above it. */
  async queue(move: Omit<StatusMove, 'to' | 'actor'>) {
    const moved = await this.move({ ...move, to: 'QUEUED', actor: 'workflow' })
    if (moved === 'already') await this.explain(move.jobId, move.generation, 'QUEUED', move.reason, move.message)
  },

  /** An automatic relaunch. */
  async countResume(id: number) {
    await db.trainingJob.update({ where: { id }, data: { resumeCount: { increment: 1 } } })
  },

  /** Those of these ids that exist, with the keys of their checked rows. */
  async dataKeys(ids: number[]): Promise<Map<number, string[]>> {
    const where = { id: { in: [...new Set(ids)] } }
    const jobs = await db.trainingJob.findMany({ where, select: { id: true, preparedData: true } })
    return new Map(
      jobs.map(({ id, preparedData }) => {
        const data = preparedData as unknown as PreparedData | null
        return [id, data ? [data.train.key, data.evaluation.key] : []]
      }),
    )
  },

  /** Those of these ids whose job has ended: nobody resumes it before the transaction ends. What somebody else holds is left out. */
  async holdEnded(ids: number[]): Promise<Set<number>> {
    const jobs = await db.$queryRaw<{ id: number }[]>`
      select id from training_jobs where id = any(${ids}) and not status = any(${openStatuses}) for update skip locked`
    return new Set(jobs.map(({ id }) => id))
  },

  /** Once: attempts may have begun on it. Nothing once this generation has ended: what is unnamed then is swept. */
  async setPreparedData({ id, generation }: Pick<TrainingJob, 'id' | 'generation'>, preparedData: PreparedData) {
    const where = { id, generation, status: { in: openStatuses }, preparedData: { equals: Prisma.AnyNull } }
    await db.trainingJob.updateMany({ where, data: { preparedData } })
  },

  /** The same bytes, at other keys; as above. */
  async movePreparedData({ id, generation }: Pick<TrainingJob, 'id' | 'generation'>, preparedData: PreparedData) {
    await db.trainingJob.updateMany({ where: { id, generation, status: { in: openStatuses } }, data: { preparedData } })
  },
})

type Row = Prisma.TrainingJobGetPayload<object>

/** The columns hold only what this file and the services have put there. */
function plain(row: Row): TrainingJob {
  const { apiKeyId: _apiKeyId, updatedAt: _updatedAt, ...rest } = row
  return {
    ...rest,
    status: row.status as TrainingJobStatus,
    spec: row.spec as unknown as TrainingSpec,
    preparedData: row.preparedData as unknown as PreparedData | null,
  }
}
