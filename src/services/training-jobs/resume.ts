import { sourcesOf, type DataSource } from '../../domain/data-sources.ts'
import { rowReader, trainingDataProblem } from '../../domain/dataset-report.ts'
import { fineTuneWorkflowId } from '../../domain/identifiers.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { methodNameOf } from '../../domain/training-method.ts'
import { isResumable } from '../../domain/training-job-status.ts'
import { hasResumeLeft, isFailedByData, type TrainingJob } from '../../domain/training-job.ts'
import { recordAudit } from '../audit/record.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob, jobNotFound } from './get.ts'
import { once, type Idempotency } from '../idempotency.ts'
import { requireRoomForJob } from '../limits/account-quotas.ts'

export type ResumedTrainingJob = { jobId: number; status: 'QUEUED' }

/**
 * Puts an ended job back into the queue; it continues from its newest verified checkpoint. Uses one of its resumes.
 * @throws ServiceError not_found, conflict when the job runs, is complete, has no resumes left, or failed by data that is the same
 */
export async function resumeTrainingJob({
  ctx,
  input: { jobId },
  idempotency,
}: {
  ctx: Ctx
  input: { jobId: number }
  idempotency: Idempotency
}): Promise<ResumedTrainingJob> {
  return once<ResumedTrainingJob>(ctx, idempotency, async (answer) => {
    const mayDiffer = await mayHaveOtherData(ctx, await findTrainingJob(ctx, jobId))
    return ctx.deps.database.transaction(async (tx) => {
      const job = await tx.trainingJobs.lock(ctx.accountId, jobId)
      if (!job) throw jobNotFound(jobId)
      refuseUnlessResumable(job)
      if (!mayDiffer && isFailedByData(job)) throw sameData(jobId)
      await requireRoomForJob(ctx, tx)
      if (job.statusReason === 'grader_failed') await tx.grades.deleteUnscored(jobId)
      const { generation } = await tx.trainingJobs.resume(jobId, 'The job is resumed and waits for a slot.')
      const actor = `key:${ctx.apiKeyId}`
      await tx.jobEvents.add(
        jobId,
        { kind: 'command', reason: 'resume', actor },
        { kind: 'status', status: 'QUEUED', reason: 'resumed', actor },
      )
      await tx.outbox.add({ workflowId: fineTuneWorkflowId(jobId), kind: 'start', generation, payload: { jobId } })
      await recordAudit(tx, ctx, 'job.resume', jobId)
      return answer(tx, { jobId, status: 'QUEUED' })
    })
  })
}

/** Whether a resume of the job would be accepted now, if the account has room for one more job. */
export const mayResume = async (ctx: Ctx, job: TrainingJob): Promise<boolean> =>
  hasResumeLeft(job) && mayHaveOtherData(ctx, job)

const sameData = (jobId: number) =>
  new ServiceError(
    'conflict',
    `Job ${jobId} failed because of its data, which has not changed since. Correct the data and submit a new job.`,
  )

/** False when the data that the job failed by is the same: a resume would fail again. */
async function mayHaveOtherData(ctx: Ctx, job: TrainingJob) {
  const { storage } = ctx.deps
  if (!isFailedByData(job)) return true
  // Prepared rows that are lost are made again from the upload.
  if (job.preparedData) return (await storage.stat(job.preparedData.train.key)) === null
  const areBad = await Promise.all(sourcesOf(job).map((source) => isKnownBad(ctx, job, source)))
  // A full account that has room again is no fault of the data.
  return !areBad.includes(true)
}

/** Whether a job would fail by these rows as they are now. */
async function isKnownBad(
  { deps: { storage, database } }: Ctx,
  { spec }: TrainingJob,
  { dataKey, versionId }: Pick<DataSource, 'dataKey' | 'versionId'>,
): Promise<boolean> {
  const [upload, report] = await Promise.all([storage.stat(dataKey), database.datasets.report(versionId)])
  if (!report || report.etag !== upload?.etag || report.reader !== rowReader) return false
  if ((report.method ?? 'supervised') !== methodNameOf(spec)) return false
  return trainingDataProblem(report, { isSkipping: spec.skipBadRows ?? false }) !== null
}

function refuseUnlessResumable({
  id,
  status,
  resumeCount,
  resumeLimit,
  cancelRequestedAt,
  pauseRequestedAt,
  importedJobId,
}: TrainingJob) {
  if (importedJobId)
    throw new ServiceError(
      'conflict',
      `Job ${id} ran in another installation, as job ${importedJobId}. It was imported as history and cannot be resumed. Submit a new job.`,
    )
  if (status === 'COMPLETED') throw new ServiceError('conflict', `Job ${id} is complete and cannot be resumed.`)
  if (!isResumable(status))
    throw new ServiceError(
      'conflict',
      cancelRequestedAt
        ? `Job ${id} is being ${pauseRequestedAt ? 'paused' : 'cancelled'}: its resources are not released yet. Resume it in a moment.`
        : `Job ${id} is ${status}. Only ended jobs can be resumed.`,
    )
  if (resumeCount >= resumeLimit)
    throw new ServiceError('conflict', `Job ${id} has used all of its ${resumeLimit} resumes. Submit a new job.`)
}
