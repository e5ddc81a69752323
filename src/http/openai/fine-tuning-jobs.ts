import type { z } from 'zod'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { cancelTrainingJob } from '../../services/training-jobs/cancel.ts'
import type { Ctx } from '../../services/context.ts'
import type { ReceivedRows } from '../../services/datasets/ingest-rows.ts'
import { findFile, type StoredFile } from '../../services/files/find-file.ts'
import { findTrainingJob, findTrainingJobs } from '../../services/training-jobs/get.ts'
import { orFirstAnswer } from '../../services/idempotency.ts'
import { encodeJobCursor, listTrainingJobs } from '../../services/training-jobs/list.ts'
import { resumeTrainingJob } from '../../services/training-jobs/resume.ts'
import { submitTrainingJob } from '../../services/training-jobs/submit.ts'
import { defineRoute } from '../kit/route.ts'
import { translateErrors } from './errors.ts'
import { pageOf } from './files.ts'
import {
  FineTuningJob,
  FineTuningJobList,
  FineTuningJobPath,
  FineTuningRequest,
  jobIdIn,
  JobListQuery,
  jobPrefix,
} from './fine-tuning-schemas.ts'
import { integrationsOf } from '../lamini/schemas/integrations.ts'
import { metadataIn } from '../lamini/schemas/metadata.ts'
import { jobOf, listedJobsOf, methodOf } from './job.ts'

const path = '/openai/v1/fine_tuning/jobs'
const ofOneJob = {
  access: 'key',
  params: FineTuningJobPath,
  response: FineTuningJob,
} as const

export const fineTuningJobRoutes = [
  defineRoute({
    name: 'openai_create_fine_tuning_job',
    method: 'post',
    path,
    summary: 'Start a training job on a file',
    access: 'key',
    scope: 'training',
    body: FineTuningRequest,
    idempotent: true,
    errorStatuses: [404],
    response: FineTuningJob,
    async handle({ caller: ctx, body, idempotency, headers, isSecure }) {
      const { jobId } = await orFirstAnswer(ctx, idempotency, async () => {
        const integrations = integrationsOf(body.integrations, { headers, isSecure })
        const input = { ...(await submissionOf(ctx, body)), integrations }
        return translateErrors({ dataset_id: 'training_file', finetune_args: 'method' }, () =>
          submitTrainingJob({ ctx, input, idempotency }),
        )
      })
      return jobOf(ctx, await findTrainingJob(ctx, jobId))
    },
  }),
  defineRoute({
    name: 'openai_list_fine_tuning_jobs',
    method: 'get',
    path,
    summary: 'List the training jobs of the account, newest first',
    access: 'key',
    scope: 'read',
    query: JobListQuery,
    response: FineTuningJobList,
    async handle({ caller: ctx, query }) {
      const { after, limit = 20 } = query
      const input = { limit: limit + 1, after: after && cursorOf(after), metadata: metadataIn(query) }
      const pages = listTrainingJobs({ ctx, input })
      const ids = (await Array.fromAsync(pages)).flat().map(({ id }) => id)
      const jobs = await findTrainingJobs(ctx, ids.slice(0, limit))
      return pageOf(await listedJobsOf(ctx, jobs), ids.length > limit)
    },
  }),
  defineRoute({
    ...ofOneJob,
    name: 'openai_get_fine_tuning_job',
    method: 'get',
    path: `${path}/:fine_tuning_job_id`,
    summary: 'Get one training job',
    scope: 'read',
    handle: async ({ caller: ctx, params }) => jobOf(ctx, await findTrainingJob(ctx, params.fine_tuning_job_id)),
  }),
  defineRoute({
    ...ofOneJob,
    name: 'openai_cancel_fine_tuning_job',
    method: 'post',
    path: `${path}/:fine_tuning_job_id/cancel`,
    summary: 'Cancel a scheduled, running or paused training job',
    scope: 'training',
    handle: ({ caller: ctx, params }) => stop(ctx, params.fine_tuning_job_id, { isPause: false }),
  }),
  defineRoute({
    ...ofOneJob,
    name: 'openai_pause_fine_tuning_job',
    method: 'post',
    path: `${path}/:fine_tuning_job_id/pause`,
    summary: 'Pause a training job: it saves a checkpoint and releases its resources',
    scope: 'training',
    errorStatuses: [409],
    handle: ({ caller: ctx, params }) => stop(ctx, params.fine_tuning_job_id, { isPause: true }),
  }),
  defineRoute({
    ...ofOneJob,
    name: 'openai_resume_fine_tuning_job',
    method: 'post',
    path: `${path}/:fine_tuning_job_id/resume`,
    summary: 'Continue a paused training job from its newest checkpoint',
    scope: 'training',
    idempotent: true,
    errorStatuses: [409],
    async handle({ caller: ctx, params: { fine_tuning_job_id: jobId }, idempotency }) {
      await resumeTrainingJob({ ctx, input: { jobId }, idempotency })
      return jobOf(ctx, await findTrainingJob(ctx, jobId))
    },
  }),
]

async function submissionOf(ctx: Ctx, body: z.output<typeof FineTuningRequest>) {
  const training = await fileOf(ctx, 'training_file', body.training_file)
  const validation = body.validation_file ? await fileOf(ctx, 'validation_file', body.validation_file) : null
  return {
    modelName: body.model,
    datasetId: training.datasetId,
    evaluationRows: validation ? rowsOf(validation) : undefined,
    finetuneArgs: { seed: body.seed ?? undefined },
    method: methodOf(body),
    isForced: body.force ?? false,
    gpuConfig: {},
    isPublic: false,
    customModelName: body.suffix ?? null,
    metadata: body.metadata ?? undefined,
  }
}

async function stop(ctx: Ctx, jobId: number, { isPause }: { isPause: boolean }) {
  await translateErrors({ job_id: 'fine_tuning_job_id' }, () => cancelTrainingJob({ ctx, input: { jobId, isPause } }))
  return jobOf(ctx, await findTrainingJob(ctx, jobId))
}

/** Turns not_found into invalid_input, because the id came in the body and not in the path. */
async function fileOf(ctx: Ctx, param: string, fileId: string): Promise<StoredFile> {
  try {
    return await findFile({ ctx, input: { fileId } })
  } catch (error) {
    if (error instanceof ServiceError && error.code === 'not_found')
      throw invalidInput(
        param,
        `${param} must be the id of one of your files. Upload a file with POST /openai/v1/files.`,
      )
    throw error
  }
}

/** A stored file in place of rows in the request. The job makes its own copy. */
const rowsOf = ({ id, uploadKey, sizeBytes }: StoredFile): ReceivedRows => ({
  versionId: id,
  key: uploadKey,
  rowCount: 0,
  sizeBytes,
  kept: 'yes',
})

function cursorOf(after: string): string {
  const id = jobIdIn(after)
  if (id === null) throw invalidInput('after', `after must be the id of a job, such as ${jobPrefix}7.`)
  return encodeJobCursor(id)
}
