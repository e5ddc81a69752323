// The result file of an ended job: its steps as CSV. It is written on each read and stored nowhere.
import { trainingMethods, type MethodName } from '../../domain/method-table.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { TrainingSpec } from '../../domain/training-job.ts'
import { methodNameOf } from '../../domain/training-method.ts'
import type { CsvLine } from '../../repositories/training-steps.ts'
import type { Ctx } from '../context.ts'
import { findTrainingJob } from '../training-jobs/get.ts'

export type ResultFile = { id: string; jobId: number; fileName: string; sizeBytes: number; createdAt: Date }

const openAiColumns = ['step', 'train_loss', 'train_accuracy', 'valid_loss', 'valid_mean_token_accuracy']
/** Under the names that OpenAI's `metrics` events have. */
const rewardColumns = [
  { name: 'train_mean_reward', series: 'reward' },
  { name: 'valid_mean_reward', series: 'valid_reward' },
  { name: 'completion_tokens_mean', series: 'completions/mean_length' },
  { name: 'mean_unresponsive_rewards', series: 'frac_reward_unscored' },
]
const prefix = 'file-results-'

export const resultFileId = (jobId: number) => prefix + jobId

/** @returns null for the id of any other file */
export function jobOfResultFile(fileId: string): number | null {
  const id = /^file-results-([1-9]\d{0,8})$/.exec(fileId)?.[1]
  return id === undefined ? null : Number(id)
}

/** @throws ServiceError not_found, also before the job has ended */
export async function findResultFile({ ctx, input }: { ctx: Ctx; input: { jobId: number } }): Promise<ResultFile> {
  const { id: jobId, finishedAt: createdAt, spec } = await findTrainingJob(ctx, input.jobId)
  const { header, series } = columnsOf(spec)
  const sizeBytes = createdAt ? await ctx.deps.database.trainingSteps.csvSize(jobId, series) : 0
  if (!createdAt || sizeBytes === 0) throw noResult(jobId)
  return {
    id: resultFileId(jobId),
    jobId,
    fileName: 'step_metrics.csv',
    sizeBytes: header.length + sizeBytes,
    createdAt,
  }
}

/** Yields the file a page at a time. @throws ServiceError not_found, also before the job has ended */
export async function readResultFile({ ctx, input }: { ctx: Ctx; input: { jobId: number } }) {
  const { id: jobId, finishedAt, spec } = await findTrainingJob(ctx, input.jobId)
  const { header, series } = columnsOf(spec)
  const pages = ctx.deps.database.trainingSteps.csvPages(jobId, series)
  // Read before the answer begins: a failure here is still an ordinary error answer.
  const first = finishedAt ? await pages.next() : null
  if (!first || first.done) throw noResult(jobId)
  return textOf(header, first.value, pages)
}

/** The five columns of a supervised job are OpenAI's; other methods add their own figures after these. */
function columnsOf(spec: TrainingSpec): { header: string; series: string[] } {
  const added = addedColumns(methodNameOf(spec))
  return {
    header: `${[...openAiColumns, ...added.map(({ name }) => name)].join(',')}\n`,
    series: added.map(({ series }) => series),
  }
}

function addedColumns(method: MethodName) {
  if (method === 'supervised') return []
  if (method === 'reinforcement') return rewardColumns
  return trainingMethods[method].series.flatMap((name) => [
    { name: `train_${name}`, series: name },
    { name: `valid_${name}`, series: `valid_${name}` },
  ])
}

async function* textOf(header: string, first: CsvLine[], rest: AsyncIterable<CsvLine[]>): AsyncGenerator<Buffer> {
  yield Buffer.from(header + joined(first))
  for await (const lines of rest) yield Buffer.from(joined(lines))
}

const joined = (lines: readonly CsvLine[]) => lines.map(({ line }) => line).join('')

const noResult = (jobId: number) =>
  new ServiceError('not_found', `Job ${jobId} has no result file: it has not ended, or has reported no step.`)
