// The activities of batches over a table in memory and a model that refuses some items.
import { ApplicationFailure } from '@temporalio/activity'
import { MockActivityEnvironment } from '@temporalio/testing'
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { createInferenceBatchActivities, type InferenceBatchDependencies } from '../../activities/inference-batches.ts'
import { batchResultText } from '../../src/domain/batch-result.ts'
import type { BatchKind, ChunkResults } from '../../src/domain/inference-batch.ts'
import { invalidInput, ServiceError } from '../../src/domain/service-error.ts'

const chunkSize = 8
const sampling = { dataId: null, outputType: null, maxTokens: 32, temperature: null, topP: null, seed: null, stop: [] }
const hour = 3_600_000

/** As engines refuse: the first bad item of a call by its position, or, in vLLM's way, without one. */
type Refuse = (items: readonly string[]) => void
const byPosition: Refuse = (items) => {
  const at = items.indexOf('bad')
  if (at >= 0) throw invalidInput(`prompt[${at}]`, `The prompt at position ${at} is too long.`)
}
const withoutPosition: Refuse = (items) => {
  if (items.includes('bad')) throw invalidInput('prompt', 'A prompt is too long.')
}

type World = { items: string[]; kind?: BatchKind; refuse?: Refuse; ageMs?: number }

function open({ items, kind = 'completions', refuse = byPosition, ageMs = 0.25 }: World) {
  const calls: string[][] = []
  const chunks = new Map<number, ChunkResults>()
  const saved: ChunkResults[] = []
  const parts = Array.from({ length: Math.ceil(items.length / chunkSize) }, (_, chunk) =>
    items.slice(chunk * chunkSize, (chunk + 1) * chunkSize),
  )
  const locations = parts.map((part, offset) => ({ offset, sizeBytes: JSON.stringify(part).length }))
  const batch = {
    ...{ id: 'b', accountId: 'a', apiKeyId: 'k', kind, modelName: 'm', promptsKey: 'p', itemCount: items.length },
    ...{ state: 'running', message: null, resultKey: null },
    request: { chunkSize, chunks: locations, input: kind === 'embeddings' ? null : sampling },
  }
  const inferenceBatches = {
    get: async () => batch,
    isChunkFinal: async () => false,
    begin: async () => ageMs,
    saveChunk: async ({ start }: { start: number }, results: ChunkResults) => {
      chunks.set(start, results)
      saved.push(results)
    },
    findChunk: async ({ start }: { start: number }) => chunks.get(start) ?? null,
    measureResults: async () => ({
      sizeBytes: 0,
      errorCount: [...chunks.values()].reduce((sum, { errorCount }) => sum + errorCount, 0),
    }),
    finish: async () => true,
  }
  const answer = <T>(texts: readonly string[], one: (text: string) => T) => {
    calls.push([...texts])
    refuse(texts)
    return texts.map(one)
  }
  const activities = createInferenceBatchActivities({
    database: {
      inferenceBatches,
      transaction: async (work: (tx: object) => unknown) => work({ inferenceBatches }),
      check: async () => undefined,
    },
    storage: {
      readRange: async (_key: string, { offset }: { offset: number }) => ({
        bytes: Buffer.from(JSON.stringify(parts[offset])),
      }),
      remove: async () => undefined,
    },
    infer: {
      complete: async ({ prompts, maxTokens }: { prompts: string[]; maxTokens: number }) => ({
        outputs: answer(prompts, (prompt) => ({ output: prompt.repeat(maxTokens).slice(0, maxTokens) })),
        finishReasons: prompts.map(() => 'length'),
      }),
      embed: async ({ texts }: { texts: string[] }) => answer(texts, (text) => [text.length]),
    },
  } as unknown as InferenceBatchDependencies)
  const run = (chunk: number) =>
    new MockActivityEnvironment().run(activities.runBatchChunk, { batchId: 'b', chunk, ageLimitMs: 24 * hour })
  const finish = () => new MockActivityEnvironment().run(activities.finishBatch, { batchId: 'b' })
  async function result() {
    let text = ''
    const read = async (chunk: number) => chunks.get(chunk * chunkSize) ?? null
    for await (const piece of batchResultText(kind, read, { chunkCount: parts.length, missingCount: 0 })) text += piece
    return JSON.parse(text) as Record<string, unknown[]>
  }
  return { run, finish, result, calls, saved, chunkCount: parts.length }
}

const refused = (message: RegExp) => (error: unknown) => {
  assert.ok(error instanceof ApplicationFailure && error.type === 'Refused' && error.nonRetryable === true)
  assert.match(error.message, message)
  return true
}

suite('a chunk', () => {
  test('answers all but its refused items, and names those by their place in the batch', async () => {
    const items = Array.from({ length: 20 }, (_, index) => ([9, 12, 13].includes(index) ? 'bad' : `p${index}`))
    const world = open({ items })
    for (let chunk = 0; chunk < world.chunkCount; chunk++) await world.run(chunk)
    await world.finish()
    const { outputs = [], finish_reason, errors } = await world.result()
    for (const [index, output] of outputs.entries())
      if (items[index] === 'bad') assert.equal(output, null)
      else assert.ok((output as { output: string }).output.startsWith(`p${index}`))
    assert.deepEqual(
      finish_reason,
      items.map((item) => (item === 'bad' ? 'error' : 'length')),
    )
    assert.deepEqual(
      errors,
      [9, 12, 13].map((at) => ({ path: `prompt[${at}]`, message: `The prompt at position ${at} is too long.` })),
    )
  })

  test('finds refused items that the engine does not name', async () => {
    const items = ['a', 'bad', 'c', 'd', 'e', 'bad', 'g']
    const world = open({ items, refuse: withoutPosition })
    await world.run(0)
    const { errors, finish_reason } = await world.result()
    assert.deepEqual(
      errors?.map((error) => (error as { path: string }).path),
      ['prompt[1]', 'prompt[5]'],
    )
    assert.deepEqual(
      finish_reason,
      items.map((item) => (item === 'bad' ? 'error' : 'length')),
    )
  })

  test('sends each item a few times at most when all items are refused', async () => {
    const world = open({ items: Array.from({ length: 8 }, () => 'bad') })
    await world.run(0)
    const sent = world.calls.reduce((sum, { length }) => sum + length, 0)
    assert.ok(sent <= 8 * 4, `${sent} prompts sent for 8`)
  })

  test('counts the answers without text, and those alone', async () => {
    const world = open({ items: ['a', ' ', 'bad', ''] })
    await world.run(0)
    assert.deepEqual(
      world.saved.map(({ emptyCount }) => emptyCount),
      [2],
    )
  })

  test('without a refused item says nothing of errors', async () => {
    const world = open({ items: ['a', 'b'] })
    await world.run(0)
    assert.deepEqual(Object.keys(await world.result()), ['outputs', 'finish_reason'])
  })

  test('has null for the vector of a refused text', async () => {
    const world = open({ items: ['a', 'bad', 'ccc'], kind: 'embeddings' })
    await world.run(0)
    assert.deepEqual(await world.result(), {
      embedding: [[1], null, [3]],
      errors: [{ path: 'prompt[1]', message: 'The prompt at position 1 is too long.' }],
    })
  })

  test('asks for a refused item once while streaming', async () => {
    const world = open({ items: ['a', 'bad', 'c'], kind: 'streaming' })
    await world.run(0)
    assert.equal(world.calls.filter((call) => call.includes('bad')).length, 1)
    assert.ok(world.saved.length > 1)
    for (const { values, finishReasons } of world.saved) {
      assert.equal((JSON.parse(`[${values}]`) as unknown[])[1], null)
      assert.equal((JSON.parse(`[${finishReasons}]`) as unknown[])[1], 'error')
    }
  })

  test('is refused whole when the refusal is about no item', async () => {
    const refuse = () => {
      throw new ServiceError('model_not_found', 'There is no model m.')
    }
    await assert.rejects(open({ items: ['a', 'b'], refuse }).run(0), refused(/no model m/))
  })

  test('is refused after the age limit of its batch', async () => {
    const world = open({ items: ['a'], ageMs: 24 * hour })
    await assert.rejects(world.run(0), refused(/did not finish within its time limit/))
    assert.deepEqual(world.calls, [])
  })
})

test('a batch of refused items alone fails with the first reason', async () => {
  const world = open({ items: Array.from({ length: 10 }, () => 'bad') })
  await world.run(0)
  await world.run(1)
  await assert.rejects(world.finish(), refused(/position 0 is too long/))
})
