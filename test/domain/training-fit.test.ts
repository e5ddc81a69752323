import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { CatalogueEntry } from '../../src/domain/catalogue.ts'
import { documentedDefaults } from '../../src/domain/training-args.ts'
import type { DatasetReport } from '../../src/domain/dataset-report.ts'
import { estimateMemory, fitProblem, longestRowIn } from '../../src/domain/training-fit.ts'
import type { TrainingMethod } from '../../src/domain/training-method.ts'

/** Llama 3 with eight billion weights. */
const shape = {
  ...{ hiddenSize: 4096, layers: 32, intermediateSize: 14_336, queryWidth: 4096, keyWidth: 1024 },
  ...{ vocabularySize: 128_256, sharesEmbeddings: false },
}
const entryWith = (gpuMemoryGiB: number | undefined) => ({
  ...{ name: 'llama-8b', contextLength: 8192, shape },
  resources: { gpuCount: 1, gpuMemoryGiB } as CatalogueEntry['resources'],
})
const problem = (gpuMemoryGiB: number | undefined, longestRow: number | null, more: object = {}) =>
  fitProblem(
    {
      ...{ entry: entryWith(gpuMemoryGiB), method: null, gpuCount: 1 },
      args: { ...documentedDefaults, lora_alpha: 64, max_length: 8192, ...more },
    },
    longestRow,
  )

test('says how much a training needs, how much there is, and what makes it fit', () => {
  assert.equal(
    problem(24, 8192),
    'This training needs about 50 GiB and a GPU of llama-8b has 24. Set max_length to 1024. "force": true starts it all the same.',
  )
  assert.match(problem(40, 8192) ?? '', /Set load_in_4bit, or max_length to 4096\./)
  assert.match(problem(12, 8192) ?? '', /Set load_in_4bit and max_length to \d+\./)
  assert.match(problem(2, 8192) ?? '', /Train a smaller model\./)
})

test('before the rows are read, the shortest rows count', () => {
  assert.equal(problem(24, null), null)
  assert.match(problem(12, null) ?? '', /^This training needs about 1\d GiB .* Set load_in_4bit\./)
})

test('a trainer that shares the base does not fall back to single rows: its batch counts', () => {
  const shared = (batchSize: number, more: object = {}) => {
    const args = { ...documentedDefaults, lora_alpha: 64, max_length: 8192, batch_size: batchSize, ...more }
    return fitProblem({ entry: entryWith(28), method: null, gpuCount: 4, args }, 4096)
  }
  assert.equal(shared(1), null)
  assert.equal(shared(2), null, 'each of the four has one row of a step')
  assert.match(shared(32) ?? '', / about \d{3} GiB .* Set load_in_4bit, or batch_size to 1, or max_length to \d+\./)
  assert.match(shared(1, { gradient_checkpointing: false }) ?? '', / Set load_in_4bit, or max_length to \d+\./)
})

test('a base that the request shares is not advised in 4 bits too', () => {
  const args = { ...documentedDefaults, lora_alpha: 64, max_length: 8192, shard_base: true as const }
  const message = fitProblem(
    { entry: entryWith(40), method: null, gpuCount: 2, args: { ...args, batch_size: 4 } },
    8192,
  )
  assert.match(message ?? '', /Set load_in_4bit without shard_base, or/)
})

test('an answer that is sampled counts, and a shorter one is advised', () => {
  const hyperparameters = { max_completion_tokens: 8192, samples_per_prompt: 8, compute_multiplier: 1 }
  const method = { type: 'reinforcement' as const, hyperparameters, given: [] }
  const run = { entry: entryWith(40), gpuCount: 1, method, args: { ...documentedDefaults, lora_alpha: 64 } }
  assert.match(fitProblem(run, 100) ?? '', /max_completion_tokens to \d+/)
})

test('a dry run advises what makes the rows of the method shorter', () => {
  const adviceFor = (method: TrainingMethod | null) => {
    const args = { ...documentedDefaults, lora_alpha: 64, batch_size: 64, max_length: 8192 }
    const run = { entry: entryWith(24), args, gpuCount: 1, method, learned: null }
    const tokenLength = { tokenizer: 'llama-8b', input: { max: 4000 }, output: { max: 4000 } }
    return estimateMemory({ ...run, reports: [{ tokenLength } as DatasetReport] })?.advice.join(' ') ?? ''
  }
  const hyperparameters = { max_completion_tokens: 1024, samples_per_prompt: 8, compute_multiplier: 1 }
  assert.match(adviceFor(null), /a shorter max_length/)
  assert.match(adviceFor({ type: 'reinforcement', hyperparameters, given: [] }), /fewer max_completion_tokens/)
})

test('refuses nothing on a CPU, without the memory of a GPU, or without the shape of the model', () => {
  assert.equal(problem(undefined, 8192), null)
  const args = { ...documentedDefaults, lora_alpha: 64 }
  assert.equal(fitProblem({ entry: entryWith(2), args, method: null, gpuCount: 0 }, 8192), null)
  const { shape: _, ...entry } = entryWith(2)
  assert.equal(fitProblem({ entry, args, method: null, gpuCount: 1 }, 8192), null)
})

test('the longest row is known only if each report counts tokens of the model', () => {
  const length = (max: number) => ({ min: 1, p50: 1, p90: 1, p99: 1, max })
  const report = (tokenizer: string, max: number) => ({
    tokenLength: { tokenizer, input: length(max), output: length(1) } as never,
  })
  assert.equal(longestRowIn([report('a', 9), report('a', 20)], 'a'), 21)
  assert.equal(longestRowIn([report('a', 9), report('b', 20)], 'a'), null)
  assert.equal(longestRowIn([report('a', 9), { tokenLength: null }], 'a'), null)
  assert.equal(longestRowIn([], 'a'), null)
})
