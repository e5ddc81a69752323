// Runs of evals: the model answers each item as a chat, and the criteria judge the answers.
import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import { chunkSize, layOut } from '../src/domain/chunk-layout.ts'
import {
  messagesOf,
  summariseRun,
  type EvalItem,
  type EvalRunRequest,
  type JudgedItem,
} from '../src/domain/eval-run.ts'
import type { EvaluationSummary, ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { storageFull } from '../src/domain/storage-full.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { createJudging, endpoint } from './eval-judging.ts'
import { chatSamples, givenSample, type Sampled } from './eval-samples.ts'
import type { ScoringDependencies } from './evaluation-scores.ts'
import { refused, withModelErrors } from './model-errors.ts'

export type EvalRunDependencies = ScoringDependencies & {
  database: Pick<Database, 'accounts' | 'inferenceBatches' | 'modelEvaluations' | 'transaction' | 'check'>
  storage: Storage
  settings: { maxStoredBytes: number }
}

type Run = ModelEvaluation & { rowsKey: string; rowCount: number; run: EvalRunRequest }

export function createEvalRuns(deps: EvalRunDependencies) {
  const { database, storage, grade, settings } = deps
  const { modelEvaluations, inferenceBatches } = database

  return {
    /** Checks the items, and makes a batch of chats unless they bring their samples. */
    async prepare(evaluation: ModelEvaluation) {
      const run = runOf(evaluation)
      if ((await database.accounts.storedBytes(run.accountId)) >= settings.maxStoredBytes)
        throw refused(storageFull(settings.maxStoredBytes))
      const items = await readAll(run)
      await requireSchema(run, items)
      const batch = run.run.sampling && (await storeBatch(run, items))
      const plan = { graders: [], chunks: run.run.chunks, batchIds: batch ? [batch.id] : [] }
      const isOurs = await database.transaction(async (tx) => {
        const rows = { rowsKey: run.rowsKey, rowCount: run.rowCount, sizeBytes: 0, plan }
        const started = await tx.modelEvaluations.start(run.id, rows)
        if (started && batch) await tx.inferenceBatches.create(batch)
        return started
      })
      if (!isOurs && batch) await storage.remove([batch.promptsKey])
    },

    /** Judges the answers in chunks; the first judgement of a chunk stays. */
    async judge(evaluation: ModelEvaluation) {
      const run = runOf(evaluation)
      const batchId = evaluation.plan?.batchIds[0] ?? null
      const judge = createJudging(run.run.criteria, deps, run)
      for (let chunk = 0; chunk < run.run.chunks.length; chunk++) {
        const position = { evaluationId: run.id, model: 0, start: chunk * chunkSize }
        if (await modelEvaluations.isChunkSaved(position)) continue
        const items = await readItems(run, chunk)
        const samples = batchId === null ? items.map(givenSample) : await sampled(batchId, position.start, items.length)
        const judged = await withModelErrors(database, (signal) => judge(items, samples, position.start, signal))
        await modelEvaluations.saveChunk(position, judged)
      }
    },

    async summarise(evaluation: ModelEvaluation): Promise<EvaluationSummary> {
      const { id, run } = runOf(evaluation)
      const items: JudgedItem[] = []
      for (let chunk = 0; chunk < run.chunks.length; chunk++) {
        const position = { evaluationId: id, model: 0, start: chunk * chunkSize }
        const judged = await modelEvaluations.findChunk<JudgedItem>(position)
        if (!judged) throw new Error(`chunk ${chunk} of a run is not judged`)
        // The texts are not needed.
        items.push(...judged.map((each) => ({ ...each, output: null, sample: usageOnly(each) })))
      }
      return { models: {}, comparison: {}, run: summariseRun(run.criteria, items) }
    },
  }

  /** Stores a chat for each item. The batch's row follows with the plan. */
  async function storeBatch({ accountId, apiKeyId, run, request }: Run, items: readonly EvalItem[]) {
    const id = randomUUID()
    const promptsKey = storageKeys.batch(accountId, id, 'items.json')
    const model = request.models[0]?.modelName ?? ''
    const { object, chunks } = layOut(items.map((item, index) => chatLine(run, model, item, index)))
    await storage.write(promptsKey, object)
    const common = { accountId, apiKeyId, modelName: '', promptsKey, itemCount: items.length }
    return { id, kind: 'chats' as const, request: { chunkSize, chunks, input: null, endpoint }, ...common }
  }

  async function requireSchema({ accountId, run }: Run, items: readonly EvalItem[]) {
    const grader = { type: 'json_schema' as const, schema: run.itemSchema }
    for (let start = 0; start < items.length; start += chunkSize) {
      const texts = items.slice(start, start + chunkSize).map(({ item }) => JSON.stringify(item))
      const graded = texts.map((output) => ({ input: '', expected: '', output }))
      const [fits = []] = await grade(accountId, { graders: [grader], graded }, cancellationSignal())
      const misfit = fits.findIndex((score) => score !== 1)
      if (misfit >= 0) throw refused(`Item ${start + misfit} does not fit the item_schema of the eval.`)
    }
  }

  async function sampled(batchId: string, start: number, count: number): Promise<Sampled[]> {
    const { state, message } = await inferenceBatches.get(batchId)
    if (state !== 'done') throw refused(message ?? 'The batch of the run has no result.')
    const chunk = await inferenceBatches.findChunk({ batchId, start })
    if (!chunk) throw refused('The answers of the run are missing. Create the run again.')
    return chatSamples(chunk, { start, count })
  }

  async function readAll(run: Run): Promise<EvalItem[]> {
    const items: EvalItem[] = []
    for (const chunk of run.run.chunks.keys()) items.push(...(await readItems(run, chunk)))
    return items
  }

  async function readItems({ rowsKey, run }: Run, chunk: number): Promise<EvalItem[]> {
    const location = run.chunks[chunk]
    if (!location) throw refused(`The run has no chunk ${chunk}.`)
    const { bytes } = await storage.readRange(rowsKey, { offset: location.offset, limit: location.sizeBytes })
    if (bytes.length < location.sizeBytes)
      throw refused('The items of the run are missing from the object store. Create the run again.')
    return JSON.parse(bytes.toString()) as EvalItem[]
  }
}

function runOf(evaluation: ModelEvaluation): Run {
  const { rowsKey, rowCount, request } = evaluation
  if (!request.run || rowsKey === null || rowCount === null) throw refused('The evaluation is no run of an eval.')
  return { ...evaluation, rowsKey, rowCount, run: request.run }
}

function chatLine({ sampling }: EvalRunRequest, model: string, item: EvalItem, index: number): string {
  const messages = sampling && messagesOf(sampling.messages, item)
  const fields = sampling?.fieldsText === undefined ? sampling?.fields : (JSON.parse(sampling.fieldsText) as object)
  const body = { model, messages, ...fields }
  return JSON.stringify({ custom_id: String(index), method: 'POST', url: endpoint, body })
}

const usageOnly = ({ sample }: JudgedItem): JudgedItem['sample'] =>
  sample && { output_text: '', ...(sample.usage && { usage: sample.usage }) }
