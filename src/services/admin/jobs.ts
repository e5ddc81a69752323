import type { TrainingJobStatus } from '../../domain/training-job-status.ts'
import type { TrainingJob } from '../../domain/training-job.ts'
import type { OperatorJob } from '../../repositories/operator-views.ts'
import type { AdminCtx, Ctx } from '../context.ts'
import { describeTrainingJobs, type DescribedJob } from '../training-jobs/describe.ts'
import { findTrainingJob, jobNotFound } from '../training-jobs/get.ts'
import { listAttempts, type CountedAttempt } from '../training-jobs/list-attempts.ts'
import { withNames, type NamedEvent } from '../training-jobs/list-events.ts'
import { findAccount } from './accounts.ts'

const shownAttempts = 20
const shownEvents = 100

/**
 * Lists jobs, newest first: those of all accounts for the operator, those of its own for the key of an account.
 * @throws ServiceError not_found for an unknown account or cursor
 */
export async function listJobs({
  admin,
  input: { accountId, status, after, limit },
}: {
  admin: AdminCtx
  input: { accountId: string | null; status: TrainingJobStatus | null; after: number | null; limit: number }
}): Promise<{ jobs: OperatorJob[]; next: number | null }> {
  const { operatorViews } = admin.deps.database
  if (accountId !== null) await findAccount(admin, accountId)
  const ofAccount = admin.accountId ?? accountId
  if (after !== null) await findJob(admin, after)
  const jobs = await operatorViews.listJobs({ accountId: ofAccount, status, after, limit })
  return { jobs, next: jobs.length === limit ? (jobs.at(-1)?.jobId ?? null) : null }
}

type JobRecord = {
  /** A context of the job's account, for the parts of an answer that need one. */
  ctx: Ctx
  job: OperatorJob
  row: TrainingJob
  details: DescribedJob
  /** The newest ones, newest first. */
  attempts: CountedAttempt[]
  events: NamedEvent[]
}

/** One job with its newest attempts and events. @throws ServiceError not_found, for another account's job too */
export async function getJob({
  admin,
  input: { jobId },
}: {
  admin: AdminCtx
  input: { jobId: number }
}): Promise<JobRecord> {
  const job = await findJob(admin, jobId)
  const ctx: Ctx = { ...admin, accountId: job.accountId, isAdmin: true }
  const [row, described, { attempts }, events] = await Promise.all([
    findTrainingJob(ctx, jobId),
    describeTrainingJobs({ ctx, input: { jobIds: [jobId] } }),
    listAttempts({ ctx, input: { jobId, limit: shownAttempts } }),
    admin.deps.database.jobEvents.newest(jobId, shownEvents),
  ])
  const details = described.get(jobId)
  if (!details) throw jobNotFound(jobId)
  return { ctx, job, row, details, attempts, events: await withNames(admin, events) }
}

async function findJob({ deps, accountId }: AdminCtx, jobId: number): Promise<OperatorJob> {
  const job = await deps.database.operatorViews.findJob(jobId)
  if (!job || (accountId !== null && job.accountId !== accountId)) throw jobNotFound(jobId)
  return job
}
