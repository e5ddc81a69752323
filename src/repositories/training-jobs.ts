import { Prisma } from '../../generated/prisma/client.ts'
import { mayMove, openStatuses, type TrainingJobStatus } from '../domain/training-job-status.ts'
import { ServiceError } from '../domain/service-error.ts'
import {
  preparedFiles,
  type PreparedData,
  type TrainingJob,
  type TrainingJobSummary,
  type TrainingSpec,
} from '../domain/training-job.ts'
import type { Connection } from './connection.ts'
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

type JobFilter = {
  limit: number
  after: number | null
  status: TrainingJobStatus | null
  /** Pairs that the metadata of a job must hold. */
  metadata?: Record<string, string> | null
}

/**
 * `already`: the job has that status. `cancelling`: an accepted cancel forbids the move. `refused`: the generation differs
 * or the table of moves forbids it.
 */
export type MoveResult = 'moved' | 'already' | 'cancelling' | 'refused'

export const createTrainingJobRepository = (db: Connection, run: RunStatement) => ({
  async find(accountId: string, id: number): Promise<TrainingJob | null> {
    const [job] = await run<TrainingJob>(findJob, [accountId, id])
    return job ?? null
  },

  /** Finds jobs, newest first. */
  findMany: (accountId: string, ids: readonly number[]): Promise<TrainingJob[]> =>
    run<TrainingJob>(findJobs, [accountId, ids]),

  /** For activities: finds a job of any account. @throws ServiceError not_found */
  async get(id: number): Promise<TrainingJob> {
    const row = await db.trainingJob.findUnique({ where: { id } })
    if (!row) throw new ServiceError('not_found', `There is no job ${id}.`)
    return plain(row)
  },

  /** For activities: locks the row until the transaction ends. */
  async hold(id: number): Promise<TrainingJob> {
    await db.$queryRaw`select from training_jobs where id = ${id} for update`
    return this.get(id)
  },

  /** Lists jobs, newest first. `after` is the id of the last job of the page before. */
  list: (accountId: string, { limit, after, status, metadata = null }: JobFilter): Promise<TrainingJobSummary[]> =>
    run(listJobs({ isAfter: after !== null, hasStatus: status !== null, hasMetadata: metadata !== null }), [
      accountId,
      limit,
      ...(after === null ? [] : [after]),
      ...(status === null ? [] : [status]),
      ...(metadata === null ? [] : [JSON.stringify(metadata), ...firstPair(metadata)]),
    ]),

  /** Locks the row until the transaction ends, so that commands to one job take turns. */
  async lock(accountId: string, id: number): Promise<TrainingJob | null> {
    await db.$queryRaw`select from training_jobs where id = ${id} and account_id = ${accountId}::uuid for update`
    return this.find(accountId, id)
  },

  /** Lists open jobs without an accepted cancel. */
  async listCancellable(accountId: string, limit: number): Promise<number[]> {
    const rows = await db.trainingJob.findMany({
      where: { accountId, status: { in: openStatuses }, cancelRequestedAt: null },
      select: { id: true },
      take: limit,
    })
    return rows.map(({ id }) => id)
  },

  /** Compare-and-set. @returns false when the job is not open or has an accepted cancel */
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

  /** Turns an accepted pause into a cancel. */
  async forgetPause(id: number) {
    await db.trainingJob.update({ where: { id }, data: { pauseRequestedAt: null } })
  },

  /** Moves an ended job to QUEUED with the next generation. The caller holds the lock and has checked the status. */
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

  /** Finds an open job that begins from this tuned model. */
  async openJobFrom(accountId: string, modelName: string): Promise<number | null> {
    const [job] = await db.$queryRaw<{ id: number }[]>`
      select id from training_jobs where account_id = ${accountId}::uuid and status = any(${openStatuses})
        and spec->'startFrom'->>'modelName' = ${modelName} limit 1`
    return job?.id ?? null
  },

  /** Compare-and-set along the table of moves; adds the event. */
  async move({ jobId, generation, to, reason, message, attempt, modelName, actor }: StatusMove): Promise<MoveResult> {
    const { count } = await db.trainingJob.updateMany({
      where: {
        id: jobId,
        generation,
        // Only an accepted resume leaves an end status, never a late step.
        status: { in: openStatuses.filter((from) => mayMove(from, to)) },
        // After an accepted cancel, CANCELLED is the only allowed move.
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

  /** Sets the reason why an open job waits. */
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

  /** Moves a job to QUEUED, or updates the reason of a queued job. */
  async queue(move: Omit<StatusMove, 'to' | 'actor'>) {
    const moved = await this.move({ ...move, to: 'QUEUED', actor: 'workflow' })
    if (moved === 'already') await this.explain(move.jobId, move.generation, 'QUEUED', move.reason, move.message)
  },

  /** Counts an automatic relaunch. */
  async countResume(id: number) {
    await db.trainingJob.update({ where: { id }, data: { resumeCount: { increment: 1 } } })
  },

  /** Maps the ids that exist to the keys of their checked rows. */
  async dataKeys(ids: number[]): Promise<Map<number, string[]>> {
    const where = { id: { in: [...new Set(ids)] } }
    const jobs = await db.trainingJob.findMany({ where, select: { id: true, preparedData: true } })
    return new Map(
      jobs.map(({ id, preparedData }) => {
        const data = preparedData as unknown as PreparedData | null
        return [id, data ? preparedFiles(data).map(({ key }) => key) : []]
      }),
    )
  },

  /** Locks and returns the ended jobs of these ids, so that none is resumed meanwhile. Skips locked rows. */
  async holdEnded(ids: number[]): Promise<Set<number>> {
    const jobs = await db.$queryRaw<{ id: number }[]>`
      select id from training_jobs where id = any(${ids}) and not status = any(${openStatuses}) for update skip locked`
    return new Set(jobs.map(({ id }) => id))
  },

  /**
   * Sets the data once. After the generation's end it does nothing, and retention removes the objects.
   * @returns whether this call has set it
   */
  async setPreparedData(
    { id, generation }: Pick<TrainingJob, 'id' | 'generation'>,
    preparedData: PreparedData,
  ): Promise<boolean> {
    const where = { id, generation, status: { in: openStatuses }, preparedData: { equals: Prisma.AnyNull } }
    const { count } = await db.trainingJob.updateMany({ where, data: { preparedData } })
    return count === 1
  },

  /** Replaces the keys of the same bytes, while the generation is open. */
  async movePreparedData({ id, generation }: Pick<TrainingJob, 'id' | 'generation'>, preparedData: PreparedData) {
    const data = { preparedData, dataRemovedAt: null }
    await db.trainingJob.updateMany({ where: { id, generation, status: { in: openStatuses } }, data })
  },

  /** Finds rows that a job on these bytes of the version has prepared in its own folder, without evaluation rows of the caller. */
  async findPreparedData(
    datasetVersionId: string,
    sourceEtag: string,
  ): Promise<{ owner: number; prepared: PreparedData } | null> {
    const [found] = await db.$queryRaw<{ owner: number; prepared: PreparedData }[]>`
      select id as owner, prepared_data as prepared from training_jobs
      where dataset_version_id = ${datasetVersionId}::uuid and prepared_data->>'sourceEtag' = ${sourceEtag}
        and spec->>'evaluationKey' is null and spec->'sources' is null and data_removed_at is null
        and prepared_data->'train'->>'key' like 'jobs/' || id || '/%'
      order by id desc limit 1`
    return found ?? null
  },

  /** The key that the job was submitted with. */
  async apiKeyOf(id: number): Promise<string> {
    return (await db.trainingJob.findUniqueOrThrow({ where: { id }, select: { apiKeyId: true } })).apiKeyId
  },

  /** Keeps retention from removing the rows of a job until the transaction ends. @returns false when they are removed */
  async holdPreparedData(id: number): Promise<boolean> {
    const held = await db.$queryRaw<unknown[]>`
      select 1 from training_jobs where id = ${id} and prepared_data is not null and data_removed_at is null for share`
    return held.length === 1
  },
})

const firstPair = (metadata: Record<string, string>): [string, string] => Object.entries(metadata)[0] ?? ['', '']

type Row = Prisma.TrainingJobGetPayload<object>

/** The casts hold because only this file and the services write these columns. */
function plain(row: Row): TrainingJob {
  const { apiKeyId: _key, updatedAt: _updatedAt, dataRemovedAt: _removedAt, stateSequence: _sequence, ...more } = row
  const { datasetRun: _run, importedFrom: _from, ...rest } = more
  return {
    ...rest,
    status: row.status as TrainingJobStatus,
    spec: row.spec as unknown as TrainingSpec,
    preparedData: row.preparedData as unknown as PreparedData | null,
  }
}
