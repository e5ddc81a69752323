// The activities of an evaluation. Each may run twice; rows, answers and scores that were stored first stay.
import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import { json } from 'node:stream/consumers'
import { chunkSize, layOut } from '../src/domain/chunk-layout.ts'
import { graderName, type ScoredAnswer } from '../src/domain/grader.ts'
import { batchCancelled, type BatchItem, type InferenceBatch } from '../src/domain/inference-batch.ts'
import {
  isOpenEvaluation,
  type EvaluatedRow,
  type EvaluationEnding,
  type EvaluationSummary,
  type ModelEvaluation,
} from '../src/domain/model-evaluation.ts'
import { ServiceError } from '../src/domain/service-error.ts'
import { storageFull } from '../src/domain/storage-full.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Grading } from '../src/grading/grading-threads.ts'
import { scoreAnswers } from '../src/grading/score.ts'
import { compare, summarise } from '../src/grading/summarise.ts'
import type { DatasetValidator } from '../src/datasets/dataset-validator.ts'
import type { Database } from '../src/repositories/database.ts'
import { createEvalRuns, type EvalRunDependencies } from './eval-runs.ts'
import { gradingModels } from './grading-models.ts'
import { boundedTries } from './bounded-tries.ts'
import { columnsOfKey } from './columns-of-key.ts'
import { refused, withModelErrors } from './model-errors.ts'

export type ModelEvaluationDependencies = EvalRunDependencies & {
  database: Pick<Database, 'datasets'>
  datasets: Pick<DatasetValidator, 'sample'>
  grading: Pick<Grading, 'defaultGraders'>
}

export type ModelEvaluationActivities = ReturnType<typeof createModelEvaluationActivities>

/** `batchId`: null when the rows bring their answers. */
export type EvaluationBatch = { batchId: string | null; chunkCount: number }
type Prepared = ModelEvaluation & { plan: NonNullable<ModelEvaluation['plan']>; rowsKey: string; rowCount: number }

export function createModelEvaluationActivities(deps: ModelEvaluationDependencies) {
  const { database, datasets, storage, grading, settings } = deps
  const { modelEvaluations, inferenceBatches } = database
  const runs = createEvalRuns(deps)

  return {
    /**
     * Chooses the rows and makes a batch of them for each model.
     * @returns the batches, in the order of the models
     * @throws ApplicationFailure Refused when the data set cannot be used
     */
    prepareEvaluation: ({ evaluationId }: { evaluationId: string }): Promise<EvaluationBatch[]> =>
      boundedTries(tries(evaluationId, 'Preparing the evaluation'), async () => {
        const evaluation = await existing(evaluationId)
        if (evaluation.plan === null) await (evaluation.request.run ? runs.prepare(evaluation) : prepare(evaluation))
        const { plan } = await prepared(evaluationId)
        const batchIds = plan.batchIds.length > 0 ? plan.batchIds : [null]
        return batchIds.map((batchId) => ({ batchId, chunkCount: plan.chunks.length }))
      }),

    /** @throws ApplicationFailure Refused when no retry can help, ModelUnavailable when a later one may */
    scoreModel: ({ evaluationId, model }: { evaluationId: string; model: number }): Promise<void> =>
      boundedTries(tries(evaluationId, 'Scoring the answers'), async () => {
        const evaluation = await prepared(evaluationId)
        if (evaluation.request.run) return runs.judge(evaluation)
        const { plan } = evaluation
        const answers = await answersOf(await inferenceBatches.get(plan.batchIds[model] ?? ''))
        const { graders } = plan
        const scoring = { accountId: evaluation.accountId, grading, ...gradingModels(deps.infer, evaluation) }
        for (let chunk = 0; chunk < plan.chunks.length; chunk++) {
          const position = { evaluationId, model, start: chunk * chunkSize }
          if (await modelEvaluations.isChunkSaved(position)) continue
          const rows = await readRows(evaluation, chunk)
          const part = { graders, rows, answers: answers.slice(position.start, position.start + rows.length) }
          const scored = await withModelErrors(database, (signal) => scoreAnswers(scoring, part, signal))
          await modelEvaluations.saveChunk(position, scored)
        }
      }),

    finishEvaluation: ({ evaluationId }: { evaluationId: string }): Promise<void> =>
      boundedTries(tries(evaluationId, 'Summarising the evaluation'), async () => {
        if ((await existing(evaluationId)).status === 'COMPLETED') return
        const evaluation = await prepared(evaluationId)
        const summary = await (evaluation.request.run ? runs.summarise(evaluation) : summaryOf(evaluation))
        await modelEvaluations.complete(evaluationId, summary)
      }),

    async endEvaluation(input: { evaluationId: string; status: EvaluationEnding; message?: string }): Promise<void> {
      await database.transaction(async (tx) => {
        const batchIds = (await tx.modelEvaluations.end(input.evaluationId, input.status, input.message ?? null)) ?? []
        // Otherwise the reaper starts a batch that nobody wants.
        for (const batchId of batchIds) await tx.inferenceBatches.fail(batchId, batchCancelled)
      })
    },
  }

  /** A deleted account takes its evaluations along: the failure is final. */
  async function existing(evaluationId: string): Promise<ModelEvaluation> {
    return modelEvaluations.get(evaluationId).catch((error: unknown) => {
      if (error instanceof ServiceError && error.code === 'not_found') throw refused(error.message)
      throw error
    })
  }

  async function prepared(evaluationId: string): Promise<Prepared> {
    const evaluation = await existing(evaluationId)
    const { plan, rowsKey, rowCount } = evaluation
    if (plan === null || rowsKey === null || rowCount === null || !isOpenEvaluation(evaluation.status))
      throw refused('The evaluation has ended.')
    return { ...evaluation, plan, rowsKey, rowCount }
  }

  async function prepare(evaluation: ModelEvaluation) {
    const { id, accountId, request, dataKey, maxRows } = evaluation
    if ((await database.accounts.storedBytes(accountId)) >= settings.maxStoredBytes)
      throw refused(storageFull(settings.maxStoredBytes))
    // Each try has its own keys, so that an interrupted one cannot mix with another.
    const unique = randomUUID()
    const rowsKey = storageKeys.evaluation(accountId, id, `rows-${unique}.json`)
    const columns = await columnsOfKey(database, dataKey)
    const sampled = await datasets
      .sample(
        { accountId, dataKey, columns, maxRows, key: rowsKey, isSkipping: request.isSkipping ?? false },
        cancellationSignal(),
      )
      .catch((error: unknown) => {
        throw error instanceof Error && error.name === 'DatasetInvalidError' ? refused(error.message) : error
      })
    const rows = await readAll(rowsKey, sampled.chunks)
    const expected = rows.map((row) => row.expected)
    const graders = request.graders ?? (await grading.defaultGraders(accountId, expected, cancellationSignal()))
    const batches: Awaited<ReturnType<typeof storeBatch>>[] = []
    // One after the other, because each takes as much memory as the rows.
    if (sampled.areChats && request.asChat === false) throw refused(chatsOnly)
    for (const model of request.models) batches.push(await storeBatch(evaluation, model, rows))
    const batchIds = batches.map((batch) => batch.id)
    const { chunks, areChats, skipped } = sampled
    const plan = { graders, chunks, batchIds, ...(areChats && { areChats }), ...(skipped.count > 0 && { skipped }) }
    const isOurs = await database.transaction(async (tx) => {
      const started = await tx.modelEvaluations.start(id, {
        rowsKey,
        rowCount: sampled.rowCount,
        sizeBytes: sampled.sizeBytes,
        plan,
      })
      if (started) for (const batch of batches) await tx.inferenceBatches.create(batch, { evaluationId: id })
      return started
    })
    if (!isOurs) await storage.remove([rowsKey, ...batches.map(({ promptsKey }) => promptsKey)])
  }

  /** Stores the prompts of one model's batch. Its row follows with the plan. */
  async function storeBatch(
    { accountId, apiKeyId, request: { maxTokens, system } }: ModelEvaluation,
    { modelName, specialTokens = true, chat: ofPairs }: ModelEvaluation['request']['models'][number],
    rows: readonly EvaluatedRow[],
  ) {
    const id = randomUUID()
    const promptsKey = storageKeys.batch(accountId, id, 'items.json')
    // Conversations are asked as chats, and so are the rows beside them.
    const chat = ofPairs ?? (rows.some((row) => row.chat) ? { system: system ?? '' } : undefined)
    const { object, chunks } = layOut(rows.map((row) => itemOf(row, system)))
    await storage.write(promptsKey, object)
    const sampling = { temperature: 0, topP: null, seed: null, stop: [], maxTokens }
    const input = { dataId: null, outputType: null, specialTokens, ...sampling, ...(chat && { chat }) }
    const common = { accountId, apiKeyId, modelName, promptsKey, itemCount: rows.length }
    return { id, kind: 'completions' as const, request: { chunkSize, chunks, input }, ...common }
  }

  async function readAll(key: string, chunks: Prepared['plan']['chunks']): Promise<EvaluatedRow[]> {
    const rows: EvaluatedRow[] = []
    for (const { offset, sizeBytes } of chunks) {
      const { bytes } = await storage.readRange(key, { offset, limit: sizeBytes })
      if (bytes.length < sizeBytes)
        throw refused('The rows of the evaluation are missing from the object store. Submit the evaluation again.')
      rows.push(...(JSON.parse(bytes.toString()) as EvaluatedRow[]))
    }
    return rows
  }

  function readRows({ rowsKey, plan }: Prepared, chunk: number): Promise<EvaluatedRow[]> {
    return readAll(rowsKey, plan.chunks.slice(chunk, chunk + 1))
  }

  /** The answers of a batch that is done, in the order of its items. */
  async function answersOf(batch: InferenceBatch): Promise<Pick<ScoredAnswer, 'output' | 'error'>[]> {
    if (batch.state !== 'done') throw refused(batch.message ?? 'The batch of a model has no result.')
    const result = batch.resultKey === null ? await inTable(batch) : await inStore(batch.resultKey)
    const errors = new Map(result.errors.map(({ path, message }) => [path, message]))
    return result.outputs.map((completion, index) => ({
      output: completion?.output ?? null,
      error: errors.get(`prompt[${index}]`) ?? null,
    }))
  }

  async function inTable({ id, request }: InferenceBatch): Promise<BatchResult> {
    const chunks = await inferenceBatches.listLeadingChunks(id, request.chunkSize)
    const joined = (texts: (string | undefined)[]) => JSON.parse(`[${texts.filter(Boolean).join()}]`) as unknown
    return {
      outputs: joined(chunks.map(({ values }) => values)) as BatchResult['outputs'],
      errors: joined(chunks.map(({ errors }) => errors)) as BatchResult['errors'],
    }
  }

  async function inStore(key: string): Promise<BatchResult> {
    const stored = await storage.read(key)
    if (!stored) throw refused('The answers of a model are missing from the object store. Submit the evaluation again.')
    const { outputs, errors } = (await json(stored)) as Pick<BatchResult, 'outputs'> & Partial<BatchResult>
    return { outputs, errors: errors ?? [] }
  }

  async function summaryOf({ id, request, plan }: Prepared): Promise<EvaluationSummary> {
    const scores = await Promise.all(request.models.map((_, model) => scoresOf(id, model, plan.chunks.length)))
    const summary: EvaluationSummary = { models: {}, comparison: {} }
    const names = plan.graders.map(graderName)
    for (const [model, { name }] of request.models.entries()) {
      const [ours = [], first = []] = [scores[model], scores[0]]
      summary.models[name] = await byGrader(names, (grader) => summarise(grader, ours))
      if (model > 0) summary.comparison[name] = await byGrader(names, (grader) => compare(grader, ours, first))
    }
    return summary
  }

  async function scoresOf(evaluationId: string, model: number, chunkCount: number) {
    const all = []
    for (let chunk = 0; chunk < chunkCount; chunk++) {
      const answers = await modelEvaluations.findChunk({ evaluationId, model, start: chunk * chunkSize })
      if (!answers) throw new Error(`chunk ${chunk} of model ${model} has no scores`)
      all.push(...answers.map(({ scores }) => scores))
    }
    return all
  }
}

const tries = (evaluationId: string, what: string) =>
  ({ id: `evaluation-${evaluationId}`, what, type: 'Refused' }) as const

type BatchResult = { outputs: ({ output: string } | null)[]; errors: { path: string; message: string }[] }

/** Lets other work in between: each interval takes some milliseconds. */
async function byGrader<T>(names: readonly string[], figureOf: (grader: string) => T): Promise<Record<string, T>> {
  const figures: [string, T][] = []
  for (const name of names) {
    figures.push([name, figureOf(name)])
    await new Promise(setImmediate)
  }
  return Object.fromEntries(figures)
}

const chatsOnly =
  'Create the evaluation again without "as_chat": false. Its data set holds conversations, which are asked as chats.'

/** A conversation without a system message of its own gets that of the request. */
function itemOf({ input, chat }: EvaluatedRow, system: string | undefined): BatchItem {
  if (!chat) return input
  if (!system || chat.messages[0]?.role === 'system') return chat
  return { ...chat, messages: [{ role: 'system', content: system }, ...chat.messages] }
}
