import { submitTrainingJob } from '../../services/training-jobs/submit.ts'
import { defineRoute } from '../framework/route.ts'
import { TrainAnswer, TrainRequest } from '../schemas/train.ts'

const mebibyte = 1024 * 1024

export const trainRoutes = [
  defineRoute({
    name: 'train',
    method: 'post',
    path: '/v1/train',
    aliases: ['/v1/precise_train'],
    summary: 'Start a training job',
    access: 'key',
    scope: 'training',
    body: TrainRequest,
    rows: { fields: ['data', 'eval_data'], limitBytes: 1024 * mebibyte, restLimitBytes: mebibyte },
    idempotent: true,
    response: TrainAnswer,
    async handle({ caller: ctx, body, rows, idempotency }) {
      const { jobId, status, datasetId } = await submitTrainingJob({
        ctx,
        input: {
          modelName: body.model_name,
          uploadFilePath: body.upload_file_path ?? undefined,
          datasetId: body.dataset_id ?? undefined,
          rows: rows['data'],
          storedId: body.id ?? undefined,
          evaluationRows: rows['eval_data'],
          finetuneArgs: body.finetune_args ?? {},
          gpuConfig: body.gpu_config ?? {},
          isPublic: body.is_public ?? false,
          customModelName: body.custom_model_name ?? null,
          metadata: body.metadata ?? undefined,
        },
        idempotency,
      })
      return { job_id: String(jobId), status, dataset_id: datasetId }
    },
  }),
]
