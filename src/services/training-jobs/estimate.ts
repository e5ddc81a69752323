import { trainedRowCount } from '../../datasets/select-evaluation-rows.ts'
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { gpuCountOf } from '../../domain/attempt-ledger.ts'
import {
  invalidDataReason,
  judgementProblem,
  skippedNote,
  trainingDataName,
  trainingDataProblem,
  type DatasetReport,
} from '../../domain/dataset-report.ts'
import { unreadNote } from '../../domain/unread-note.ts'
import type { Learned } from '../../domain/learned.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { notesWithoutHeldOut } from '../../domain/training-args.ts'
import { totalSteps } from '../../domain/training-steps.ts'
import { itemNeedsOf, type RewardTask } from '../../domain/reward-task.ts'
import { plannedSampling, stepOfAnswers, type PlannedSampling } from '../../domain/planned-sampling.ts'
import { methodNameOf, type TrainingMethod } from '../../domain/training-method.ts'
import { estimateMemory, type MemoryEstimate } from '../../domain/training-fit.ts'
import { estimateSeconds, type Estimate } from '../../domain/training-estimate.ts'
import type { Ctx } from '../context.ts'
import { checkReferencedData, checkRows, readParts } from '../datasets/check-referenced.ts'
import { rowsLeft } from '../datasets/resolve.ts'
import { requireRoomNow } from '../limits/account-quotas.ts'
import { checkFirstRows } from './reward-task.ts'
import { askedGpus, resolveTraining, type SubmitTrainingJobInput } from './submit.ts'

const pastJobs = 20

export type TrainingEstimate = {
  /** Rows of the data set. */
  rows: number
  /** Rows of it that the job would leave out; null unless that was asked for. */
  skippedRows: number | null
  /** Their tokens, from a sample; null without the model's tokenizer. */
  tokens: number | null
  /** Those that the job learns in one pass, from the same sample. */
  learnedTokens: number | null
  /** Rows of the sample. */
  countedRows: number
  steps: number
  epochs: number
  seconds: Estimate | null
  gpuSeconds: Estimate | null
  /** Number of complete jobs behind the estimate. */
  basedOn: number
  memory: MemoryEstimate | null
  /** Of reinforcement; null for other methods. */
  sampling: PlannedSampling | null
  /** What of the request has no effect or is done in another way. */
  warnings: string[]
}

/**
 * Checks a request and its data as a submit and its job would, and creates neither.
 * @throws ServiceError model_not_found, invalid_input, quota_exceeded, unavailable while a long check runs
 */
export async function estimateTrainingJob({
  ctx,
  input,
}: {
  ctx: Ctx
  input: SubmitTrainingJobInput
}): Promise<TrainingEstimate> {
  const { database } = ctx.deps
  const { entry, args, notes, learned, method } = await resolveTraining(ctx, input)
  const needs = method?.task ? itemNeedsOf(method.task) : []
  const wanted = { model: entry.name, method: methodNameOf({ method }), needs }
  await requireRoomNow(ctx, database)
  const { gpuConfig, evaluationRows, skipBadRows: isSkipping = false } = input
  const { reports, leftIn } = await checkReferencedData(ctx, input, wanted)
  for (const report of reports) {
    refuse(input.sets ? 'datasets' : 'data', trainingDataProblem(report, { isSkipping }))
    refuseForm(entry, report)
  }
  refuse(input.sets ? 'datasets' : 'data', judgementProblem(reports))
  if (method?.task) await tryGraders(ctx, input, method.task)
  const evaluation = evaluationRows ? await checkRows(ctx, evaluationRows, wanted) : null
  if (evaluation) refuse('eval_data', invalidDataReason('evaluation data', evaluation))
  const good = reports.map((report) => ({ ...report, rowCount: report.rowCount - report.badRowCount }))
  const rowCount = total(good, (report) => report.rowCount)
  const trained = evaluationRows ? rowCount : trainedRowCount(good)
  // A pair is two judged rows.
  const perRow = total(good, ({ judged }) => (judged ? judged.good + judged.bad : 0)) / rowCount || 1
  const { steps, epochs } = totalSteps(args, Math.round(trained * perRow), method)
  const hasHeldOut = evaluationRows !== undefined || trained < rowCount
  const told = [
    ...notes,
    ...(leftIn === null ? [] : [rowsLeft(leftIn)]),
    ...(hasHeldOut ? [] : notesWithoutHeldOut(args)),
  ].map(({ message }) => message)
  const sequences = wanted.method === 'dpo' ? 2 : perRow
  const tokensPerRow = tokensOf(good, args.max_length * sequences)
  const gpuCount = gpuCountOf({
    gpus: askedGpus(ctx.deps.settings, gpuConfig),
    nodes: gpuConfig.nodes ?? 1,
    baseModel: entry,
  })
  const isCounted = reports.every(({ tokenLength }) => tokenLength?.tokenizer === entry.name)
  const past = await database.jobDetails.pastJobs(entry.name, { gpuCount, method: wanted.method, limit: pastJobs })
  const dataNotes = [
    ...reports.flatMap((report) => [
      ...formWarnings(learned, report),
      ...asList(skippedNote(report)),
      ...asList(unreadNote(trainingDataName(report), report)),
    ]),
    ...(evaluation ? asList(unreadNote('evaluation data', evaluation)) : []),
  ]
  const rowsPerStep = args.batch_size * args.gradient_accumulation_steps
  const sampling = method?.task ? plannedSampling({ ...method, task: method.task }, { steps, rowsPerStep, past }) : null
  const ofRows = { rowsPerStep, tokensPerRow }
  const answerTokens = sampling ? sampling.sampledTokens.likely / sampling.samples : null
  const step = method && answerTokens !== null ? stepOfAnswers(ofRows, { ...method, answerTokens }) : ofRows
  const seconds = estimateSeconds(past, { steps, ...step })
  const tokens = tokensPerRow === null || !isCounted ? null : Math.round(tokensPerRow * rowCount)
  const learnedTokens = isCounted ? learnedOf(reports, method) : null
  const learnedShare = tokens && learnedTokens !== null ? Math.min(1, learnedTokens / tokens) : null
  return {
    rows: total(reports, (report) => report.rowCount),
    skippedRows: isSkipping ? total(reports, (report) => report.badRowCount) : null,
    // Another model's tokenizer makes twice or half as many of the same text. It still compares this data with past data.
    tokens,
    learnedTokens,
    countedRows: isCounted ? total(reports, ({ tokenLength }) => tokenLength?.sampledRows ?? 0) : 0,
    steps,
    epochs,
    seconds,
    gpuSeconds: seconds && multiplied(seconds, gpuCount),
    basedOn: past.length,
    memory: estimateMemory({ entry, args, method, gpuCount, reports, learned: learnedShare }),
    sampling,
    warnings: [...told, ...dataNotes],
  }
}

async function tryGraders(ctx: Ctx, input: SubmitTrainingJobInput, task: RewardTask) {
  const { parts } = await readParts(ctx, input, {
    version: ({ uploadKey }) => Promise.resolve(uploadKey),
    rows: ({ key }) => Promise.resolve(key),
  })
  await checkFirstRows(
    ctx,
    task,
    parts.map(({ read: key, ...named }) => ({ key, ...named })),
  )
}

function refuse(path: string, reason: string | null) {
  if (reason !== null) throw invalidInput(path, reason)
}

/** The trainer writes conversations by the model's chat template. */
function refuseForm({ name, chatTemplate }: CatalogueEntry, { form }: DatasetReport) {
  if (form === 'conversations' && chatTemplate === false)
    throw invalidInput(
      'model_name',
      `${name} has no chat template, so it cannot learn conversations. Send pairs of texts.`,
    )
}

function formWarnings(learned: Learned | null, { form }: DatasetReport): string[] {
  if (!learned || !form || learned.form === form) return []
  return [
    `The model to continue from learned ${learned.form}, and most rows of this data set are ${form}: the new model answers best in the form of the new rows.`,
  ]
}

/** Null where a report is of an older release. Texts have no answers: all of them is learned. */
function learnedOf(reports: readonly DatasetReport[], method: TrainingMethod | null): number | null {
  const trainOn = method?.type === 'supervised' ? method.hyperparameters['train_on'] : 'answers'
  const counts = reports.map(({ tokenLength }) => {
    if (trainOn === 'everything') return tokenLength?.estimatedTotal
    return tokenLength?.estimatedLearned?.[trainOn === 'last_answer' ? 'lastAnswer' : 'answers']
  })
  return counts.includes(undefined) ? null : total(counts, (count) => count ?? 0)
}

const asList = (sentence: string | null) => (sentence === null ? [] : [sentence])

const total = <T>(each: readonly T[], of: (one: T) => number) => each.reduce((sum, one) => sum + of(one), 0)

/** Of a row. `reports` count good rows. */
function tokensOf(reports: readonly DatasetReport[], most: number): number | null {
  if (reports.some(({ tokenLength }) => tokenLength === null)) return null
  const tokens = total(reports, ({ tokenLength }) => tokenLength?.estimatedTotal ?? 0)
  return Math.min(tokens / total(reports, ({ rowCount }) => rowCount), most)
}

const multiplied = ({ low, likely, high }: Estimate, count: number): Estimate => ({
  low: low * count,
  likely: likely * count,
  high: high * count,
})
