// Runs of evals: the model answers each item as a chat, and the criteria judge the answers.
import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import type { ChunkLocation } from '../src/domain/chunk-layout.ts'
import { summariseRun, type EvalRunRequest, type JudgedItem } from '../src/domain/eval-run.ts'
import type { EvaluationSummary, ModelEvaluation } from '../src/domain/model-evaluation.ts'
import { storageFull } from '../src/domain/storage-full.ts'
import { storageKeys } from '../src/domain/storage-keys.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Storage } from '../src/storage/storage.ts'
import { endpoint } from '../src/grading/fill-criteria.ts'
import type { Grading } from '../src/grading/grading-threads.ts'
import { createJudging } from './eval-judging.ts'
import type { ScoringDependencies } from './evaluation-scores.ts'
import { refused, withModelErrors } from './model-errors.ts'

export type EvalRunDependencies = ScoringDependencies & {
  grading: Pick<Grading, 'chatLines'>
  database: Pick<Database, 'accounts' | 'inferenceBatches' | 'modelEvaluations' | 'transaction' | 'check'>
  storage: Storage
  settings: { maxStoredBytes: number }
}

type Run = ModelEvaluation & { rowsKey: string; rowCount: number; run: EvalRunRequest }

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
      const plan = { graders: [], chunks: run.run.chunks, batchIds: batch ? [batch.id] : [] }
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
      const judge = createJudging(run.run.criteria, deps, run)
      for (let chunk = 0; chunk < run.run.chunks.length; chunk++) {
        const start = chunk * run.run.chunkSize
        const position = { evaluationId: run.id, model: 0, start }
        if (await modelEvaluations.isChunkSaved(position)) continue
        const items = await readItems(run, chunk)
        const answers = batchId === null ? null : await answersOf(batchId, start)
        const judged = await withModelErrors(database, (signal) => judge({ items, answers, start }, signal))
        await modelEvaluations.saveChunk(position, judged)
      }
    },

    async summarise(evaluation: ModelEvaluation): Promise<EvaluationSummary> {
      const { id, run } = runOf(evaluation)
      const items: JudgedItem[] = []
      for (let chunk = 0; chunk < run.chunks.length; chunk++) {
        const position = { evaluationId: id, model: 0, start: chunk * run.chunkSize }
        const judged = await modelEvaluations.findChunk<JudgedItem>(position)
        if (!judged) throw new Error(`chunk ${chunk} of a run is not judged`)
        // The texts are not needed.
        items.push(...judged.map((each) => ({ ...each, output: null, sample: usageOnly(each) })))
      }
      return { models: {}, comparison: {}, run: summariseRun(run.criteria, items) }
    },
  }

  /** Checks the items, and stores a chat for each unless they bring their samples. The batch's row follows with the plan. */
  async function storeBatch(run: Run) {
    const { accountId, apiKeyId } = run
    const id = randomUUID()
    const promptsKey = storageKeys.batch(accountId, id, 'items.json')
    const chunks: ChunkLocation[] = []
    if (!run.run.sampling) {
      for await (const _chunk of chatsOf(run, chunks));
      return null
    }
    await storage.writeStream(promptsKey, chatsOf(run, chunks), cancellationSignal())
    const common = { accountId, apiKeyId, modelName: '', promptsKey, itemCount: run.rowCount }
    return {
      id,
      kind: 'chats' as const,
      request: { chunkSize: run.run.chunkSize, chunks, input: null, endpoint },
      ...common,
    }
  }

  /** One chunk after the other, so that a run of any size takes little memory. `chunks` gets their places. */
  async function* chatsOf(run: Run, chunks: ChunkLocation[]): AsyncGenerator<Buffer> {
    const { itemSchema, sampling } = run.run
    const model = run.request.models[0]?.modelName ?? ''
    let offset = 0
    for (const chunk of run.run.chunks.keys()) {
      const start = chunk * run.run.chunkSize
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

  async function readItems({ rowsKey, run }: Run, chunk: number): Promise<Buffer> {
    const location = run.chunks[chunk]
    if (!location) throw refused(`The run has no chunk ${chunk}.`)
    const { bytes } = await storage.readRange(rowsKey, { offset: location.offset, limit: location.sizeBytes })
    if (bytes.length < location.sizeBytes)
      throw refused('The items of the run are missing from the object store. Create the run again.')
    return bytes
  }
}

function runOf(evaluation: ModelEvaluation): Run {
  const { rowsKey, rowCount, request } = evaluation
  if (!request.run || rowsKey === null || rowCount === null) throw refused('The evaluation is no run of an eval.')
  return { ...evaluation, rowsKey, rowCount, run: request.run }
}

const usageOnly = ({ sample }: JudgedItem): JudgedItem['sample'] =>
  sample && { output_text: '', ...(sample.usage && { usage: sample.usage }) }
