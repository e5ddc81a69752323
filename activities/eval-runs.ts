// Runs of evals: the model answers each item as a chat, and the criteria judge the answers.
import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import type { ChunkLocation } from '../src/domain/chunk-layout.ts'
import {
  itemChunks,
  summariseRun,
  type EvalRunRequest,
  type GradersOf,
  type ItemChunk,
  type JudgedItem,
} from '../src/domain/eval-run.ts'
import type { EvaluationSummary, ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { storageFull } from '../src/domain/storage-full.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { endpoint } from '../src/grading/fill-templates.ts'
import type { Grading } from '../src/grading/grading-threads.ts'
import { judgeItems } from '../src/grading/judge-items.ts'
import type { Infer } from './batch-answers.ts'
import { gradingModels } from './grading-models.ts'
import { refused, withModelErrors } from './model-errors.ts'

export type EvalRunDependencies = {
  infer: Infer
  grading: Pick<Grading, 'score' | 'python' | 'chatLines' | 'fillChunk'>
  gradersOf: GradersOf
  database: Pick<Database, 'accounts' | 'inferenceBatches' | 'modelEvaluations' | 'transaction' | 'check'>
  storage: Storage
  settings: { maxStoredBytes: number }
}

type Run = ModelEvaluation & { rowsKey: string; rowCount: number; spec: EvalRunRequest }

export function createEvalRuns(deps: EvalRunDependencies) {
  const { database, storage, grading, settings } = deps
  const { modelEvaluations, inferenceBatches } = database

  return {
    /** Checks the items, and makes a batch of chats unless they bring their samples. */
    async prepare(evaluation: ModelEvaluation) {
      const run = runOf(evaluation)
      if ((await database.accounts.storedBytes(run.accountId)) >= settings.maxStoredBytes)
        throw refused(storageFull(settings.maxStoredBytes))
      const batch = await storeBatch(run)
      const plan = { graders: [], chunks: run.spec.chunks, batchIds: batch ? [batch.id] : [] }
      const isOurs = await database.transaction(async (tx) => {
        const rows = { rowsKey: run.rowsKey, rowCount: run.rowCount, sizeBytes: 0, plan }
        const started = await tx.modelEvaluations.start(run.id, rows)
        if (started && batch) await tx.inferenceBatches.create(batch, { evaluationId: run.id })
        return started
      })
      if (!isOurs && batch) await storage.remove([batch.promptsKey])
    },

    /** Judges the answers in chunks; the first judgement of a chunk stays. */
    async judge(evaluation: ModelEvaluation) {
      const run = runOf(evaluation)
      const batchId = evaluation.plan?.batchIds[0] ?? null
      const { criteria } = run.spec
      const graders = deps.gradersOf(criteria)
      const scoring = { accountId: run.accountId, grading, ...gradingModels(deps.infer, run) }
      for (const chunk of itemChunks(run.spec)) {
        const { start } = chunk
        const position = { evaluationId: run.id, model: 0, start }
        if (await modelEvaluations.isChunkSaved(position)) continue
        const items = await readItems(run, chunk)
        const answers = batchId === null ? null : await answersOf(batchId, start)
        const toJudge = { criteria, graders, items, answers, start }
        const judged = await withModelErrors(database, (signal) => judgeItems(scoring, toJudge, signal))
        await modelEvaluations.saveChunk(position, judged)
      }
    },

    async summarise(evaluation: ModelEvaluation): Promise<EvaluationSummary> {
      const { id, spec } = runOf(evaluation)
      const items: JudgedItem[] = []
      for (const { start } of itemChunks(spec)) {
        const judged = await modelEvaluations.findChunk<JudgedItem>({ evaluationId: id, model: 0, start })
        if (!judged) throw new Error(`the chunk of a run that begins at item ${start} is not judged`)
        // The texts are not needed.
        items.push(...judged.map((each) => ({ ...each, output: null, sample: usageOnly(each) })))
      }
      return { models: {}, comparison: {}, run: summariseRun(spec.criteria, items) }
    },
  }

  /** Checks the items, and stores a chat for each unless they bring their samples. The batch's row follows with the plan. */
  async function storeBatch(run: Run) {
    const { accountId, apiKeyId } = run
    const id = randomUUID()
    const promptsKey = storageKeys.batch(accountId, id, 'items.json')
    const chunks: ChunkLocation[] = []
    if (!run.spec.sampling) {
      for await (const _chunk of chatsOf(run, chunks));
      return null
    }
    await storage.writeStream(promptsKey, chatsOf(run, chunks), cancellationSignal())
    const common = { accountId, apiKeyId, modelName: '', promptsKey, itemCount: run.rowCount }
    return {
      id,
      kind: 'chats' as const,
      request: { chunkSize: run.spec.chunkSize, chunks, input: null, endpoint },
      ...common,
    }
  }

  /** One chunk after the other, so that a run of any size takes little memory. `chunks` gets their places. */
  async function* chatsOf(run: Run, chunks: ChunkLocation[]): AsyncGenerator<Buffer> {
    const { itemSchema, sampling } = run.spec
    const model = run.request.models[0]?.modelName ?? ''
    let offset = 0
    for (const chunk of itemChunks(run.spec)) {
      const { start } = chunk
      const items = await readItems(run, chunk)
      const { lines, misfit } = await withModelErrors(database, (signal) =>
        grading.chatLines(run.accountId, { itemSchema, sampling, items, model, start }, signal),
      )
      if (misfit >= 0) throw refused(`Item ${start + misfit} does not fit the item_schema of the eval.`)
      chunks.push({ offset, sizeBytes: lines.length })
      offset += lines.length
      yield Buffer.from(lines)
    }
  }

  async function answersOf(batchId: string, start: number) {
    const { state, message } = await inferenceBatches.get(batchId)
    if (state !== 'done') throw refused(message ?? 'The batch of the run has no result.')
    const chunk = await inferenceBatches.findChunk({ batchId, start })
    if (!chunk) throw refused('The answers of the run are missing. Create the run again.')
    return chunk
  }

  async function readItems({ rowsKey }: Run, { offset, sizeBytes }: ItemChunk): Promise<Buffer> {
    const { bytes } = await storage.readRange(rowsKey, { offset, limit: sizeBytes })
    if (bytes.length < sizeBytes)
      throw refused('The items of the run are missing from the object store. Create the run again.')
    return bytes
  }
}

function runOf(evaluation: ModelEvaluation): Run {
  const { rowsKey, rowCount, request } = evaluation
  if (!request.run || rowsKey === null || rowCount === null) throw refused('The evaluation is no run of an eval.')
  return { ...evaluation, rowsKey, rowCount, spec: request.run }
}

const usageOnly = ({ sample }: JudgedItem): JudgedItem['sample'] =>
  sample && { output_text: '', ...(sample.usage && { usage: sample.usage }) }
