// The reaper's queries: over all accounts, in bounded portions, by index.
import { Prisma } from '../../generated/prisma/client.ts'
import { openStatuses } from '../domain/training-job-status.ts'
import { fineTuneWorkflowId, fineTuneWorkflowPrefix } from '../domain/identifiers.ts'
import type { Connection } from './connection.ts'
import { keysetPages } from './keyset-pages.ts'

/** Literals, so that the planner sees that a partial index covers the condition. */
const isOpen = Prisma.raw(`status in (${openStatuses.map((status) => `'${status}'`).join(', ')})`)

const maxPageSize = 1000

type JobGeneration = { jobId: number; generation: number }
type Position = { jobId: number; number: number }

export const createReaperRepository = (db: Connection) => ({
  /** Pages of open jobs whose messages to Temporal are all delivered. */
  deliveredJobs: (pageSize = maxPageSize): AsyncGenerator<JobGeneration[]> =>
    keysetPages(
      { jobId: 0 },
      pageSize,
      ({ jobId: after }) =>
        db.$queryRaw<JobGeneration[]>`
        select id as "jobId", generation from training_jobs j
        where ${isOpen} and id > ${after} and not exists (
          select from outbox_messages m where m.workflow_id = ${fineTuneWorkflowPrefix}::text || j.id
            and m.kind in ('start', 'cancel') and m.delivered_at is null)
        order by id limit ${pageSize}`,
    ),

  /** Locks the job until the transaction ends. @returns null unless the job is still one of `deliveredJobs`, with this generation */
  async holdDelivered({ jobId, generation }: JobGeneration): Promise<{ isCancelling: boolean } | null> {
    const [job] = await db.$queryRaw<{ isCancelling: boolean }[]>`
      select cancel_requested_at is not null as "isCancelling" from training_jobs
      where id = ${jobId} and generation = ${generation} and status = any(${openStatuses}) for update`
    if (!job) return null
    const undelivered = await db.outboxMessage.findFirst({
      where: { workflowId: fineTuneWorkflowId(jobId), kind: { in: ['start', 'cancel'] }, deliveredAt: null },
      select: { id: true },
    })
    return undelivered === null ? job : null
  },

  /** Returns the attempts that may run: known, not fenced, not released, of an open job. */
  async wantedAttempts(positions: readonly Position[]): Promise<Position[]> {
    return db.$queryRaw<Position[]>`
      select a.job_id as "jobId", a.number from attempts a
      join unnest(${positions.map(({ jobId }) => jobId)}::int[], ${positions.map(({ number }) => number)}::int[])
        as asked (job_id, number) on asked.job_id = a.job_id and asked.number = a.number
      join training_jobs j on j.id = a.job_id
      where a.fenced_at is null and a.released_at is null and j.status = any(${openStatuses})`
  },

  /** Unreleased attempts whose job has ended or was resumed since. */
  async listStrayAttempts(limit: number): Promise<Position[]> {
    return db.$queryRaw<Position[]>`
      select a.job_id as "jobId", a.number from attempts a join training_jobs j on j.id = a.job_id
      where a.released_at is null and (a.generation < j.generation or not j.status = any(${openStatuses}))
      order by a.created_at limit ${limit}`
  },

  async listModelServers(): Promise<{ baseModel: string; generation: number }[]> {
    return db.modelServer.findMany({ select: { baseModel: true, generation: true } })
  },
})
