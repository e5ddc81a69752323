import type { z } from 'zod'
import { gradersOf } from '../../domain/grader.ts'
import type { EvaluationSettings } from '../../domain/training-job.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../../services/context.ts'
import type { ReceivedRows } from '../../services/datasets/ingest-rows.ts'
import { estimateTrainingJob, type TrainingEstimate } from '../../services/training-jobs/estimate.ts'
import { findEvaluationRows } from '../../services/training-jobs/evaluation-dataset.ts'
import { previewTrainingJob, type TrainingPreview } from '../../services/training-jobs/preview.ts'
import { submitTrainingJob } from '../../services/training-jobs/submit.ts'
import { defineRoute } from '../kit/route.ts'
import { integrationsOf } from './schemas/integrations.ts'
import { dataOf } from './train-data.ts'
import { argsOf } from './train-notes.ts'
import { tokensOnWire, totalsOnWire } from './schemas/row-tokens.ts'
import { TrainOrDryRun } from './schemas/train-answers.ts'
import { TrainQuery, TrainRequest } from './schemas/train.ts'

const mebibyte = 1024 * 1024

type WantedEvaluation = NonNullable<z.infer<typeof TrainRequest>['evaluation']>

export const trainRoutes = [
  defineRoute({
    name: 'train',
    errorStatuses: [404, 594],
    method: 'post',
    path: '/v1/train',
    aliases: ['/v1/precise_train'],
    summary: 'Start a training job',
    access: 'key',
    scope: 'training',
    body: TrainRequest,
    rows: { fields: ['data', 'eval_data'], limitBytes: 1024 * mebibyte, restLimitBytes: mebibyte },
    idempotent: true,
    query: TrainQuery,
    response: TrainOrDryRun,
    async handle({ caller: ctx, query, body, rows, idempotency, headers, isSecure, signal }) {
      const input = {
        modelName: body.model_name,
        ...dataOf(body, rows['data']),
        evaluationRows: await evaluationRowsOf(ctx, rows['eval_data'], body.eval_dataset_id),
        evaluation: body.evaluation ? evaluationOf(body.evaluation) : undefined,
        skipBadRows: body.skip_bad_rows ?? false,
        isForced: body.force ?? false,
        ...argsOf({ body, query }),
        method: body.method,
        gpuConfig: gpusOf(body),
        isPublic: body.is_public ?? false,
        customModelName: body.custom_model_name ?? null,
        metadata: body.metadata ?? undefined,
        integrations: integrationsOf(body.integrations, { headers, isSecure }),
      }
      const isDryRun = query.dry_run === 'true' || body.dry_run === true
      const isPreview = query.preview === 'true' || body.preview === true
      if (isDryRun && isPreview) throw invalidInput('preview', 'Send dry_run or preview, not both.')
      if (isDryRun) return dryRun(await estimateTrainingJob({ ctx, input }))
      if (isPreview) return preview(await previewTrainingJob({ ctx, input, signal }))
      const { jobId, status, datasetId, warnings } = await submitTrainingJob({ ctx, input, idempotency })
      return { job_id: String(jobId), status, dataset_id: datasetId, ...toldIn(warnings) }
    },
  }),
]

async function evaluationRowsOf(ctx: Ctx, rows: ReceivedRows | undefined, datasetId: string | null | undefined) {
  if (!datasetId) return rows
  if (rows) throw invalidInput('eval_dataset_id', 'Send eval_data or eval_dataset_id, not both.')
  return findEvaluationRows(ctx, datasetId)
}

type TrainBody = z.output<typeof TrainRequest>

const gpusOf = ({ gpu_config: asked }: TrainBody) => ({
  gpus: asked?.gpus ?? asked?.max_gpus,
  nodes: asked?.nodes ?? asked?.max_nodes,
})

const gibibytes = (value: number) => Number(value.toPrecision(3))
const mapped = <K extends string>(parts: Record<K, number>, of: (value: number) => number) =>
  Object.fromEntries(Object.entries<number>(parts).map(([name, value]) => [name, of(value)])) as Record<K, number>

const dryRun = ({
  rows,
  skippedRows,
  tokens,
  learnedTokens,
  countedRows,
  steps,
  epochs,
  seconds,
  gpuSeconds,
  basedOn,
  memory,
  sampling,
  warnings,
}: TrainingEstimate) => ({
  dry_run: true as const,
  rows,
  ...(skippedRows !== null && { skipped_rows: skippedRows }),
  tokens,
  learned_tokens: learnedTokens,
  counted_rows: countedRows,
  steps,
  epochs,
  estimated_seconds: seconds,
  estimated_gpu_seconds: gpuSeconds,
  based_on: basedOn,
  memory_gib: memory && {
    ...{ estimated: gibibytes(memory.estimated), least: gibibytes(memory.least), available: memory.available },
    parts: mapped(memory.parts, gibibytes),
  },
  fits: memory && memory.fits,
  advice: memory?.advice ?? [],
  ...(sampling && {
    samples: sampling.samples,
    sampled_tokens: sampling.sampledTokens,
    judge_calls: sampling.judgeCalls,
  }),
  note:
    basedOn === 0
      ? 'No similar job (same base model, as many GPUs) has completed yet, so the time cannot be estimated.'
      : `Estimated from ${basedOn} complete ${basedOn === 1 ? 'job' : 'jobs'}. Four of five jobs should end within the range, if the speed of the machine stays as it was.`,
  ...toldIn(warnings),
})

const preview = ({ rows, totals, method, args, warnings }: TrainingPreview) => ({
  preview: true as const,
  rows: rows.map(tokensOnWire),
  totals: totalsOnWire(totals),
  method,
  finetune_args: args,
  ...toldIn(warnings),
})

const toldIn = (warnings: readonly string[]) => (warnings.length > 0 ? { warnings: [...warnings] } : {})

const evaluationOf = (wanted: WantedEvaluation): EvaluationSettings => ({
  ...(wanted.graders && { graders: gradersOf(wanted.graders) }),
  ...(wanted.max_rows && { maxRows: wanted.max_rows }),
  ...(wanted.max_tokens && { maxTokens: wanted.max_tokens }),
  ...(typeof wanted.as_chat === 'boolean' && { asChat: wanted.as_chat }),
  ...(typeof wanted.system === 'string' && { system: wanted.system }),
})
