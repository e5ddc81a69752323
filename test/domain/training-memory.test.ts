// The estimate against the peaks of real trainings on a CPU, each a step in a process of its own.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { trainingMemory, type ModelShape } from '../../src/domain/training-memory.ts'

const shape = (hiddenSize: number, layers: number, others: Omit<ModelShape, 'hiddenSize' | 'layers'>) => ({
  ...{ hiddenSize, layers },
  ...others,
})
const tiny = shape(192, 4, {
  ...{ intermediateSize: 512, queryWidth: 192, keyWidth: 192, vocabularySize: 1024, sharesEmbeddings: false },
})
const llama76 = shape(768, 12, {
  ...{ intermediateSize: 2048, queryWidth: 768, keyWidth: 256, vocabularySize: 1024, sharesEmbeddings: false },
})
const smollm2 = shape(576, 30, {
  ...{ intermediateSize: 1536, queryWidth: 576, keyWidth: 192, vocabularySize: 49_152, sharesEmbeddings: true },
})

/** Model, rank, rows of the step, tokens of each, learned share, gradient checkpointing, GiB at the peak. */
const measured: [ModelShape, number, number, number, number, boolean, number][] = [
  [tiny, 8, 16, 256, 0.5, false, 1.216],
  [tiny, 64, 16, 256, 0.5, false, 1.254],
  [tiny, 8, 16, 256, 1, false, 1.284],
  [llama76, 16, 4, 256, 0.5, false, 2.214],
  [llama76, 16, 4, 256, 0.5, true, 1.673],
  [llama76, 16, 2, 1000, 0.5, false, 3.336],
  [llama76, 128, 4, 256, 0.5, false, 2.286],
  [smollm2, 16, 4, 256, 0.5, false, 3.748],
  [smollm2, 16, 4, 256, 0.5, true, 2.353],
  [smollm2, 16, 2, 256, 1, false, 2.603],
]

for (const [model, rank, rows, longest, learned, isCheckpointing, peak] of measured)
  test(`${model.layers} layers, rank ${rank}, ${rows} rows of ${longest}: within a quarter of ${peak} GiB`, () => {
    const { estimated, parts } = trainingMemory({
      ...{ shape: model, longest, learned, rowsPerStep: rows, isGpu: false, hasReference: false, sampling: null },
      args: { batch_size: rows, r_value: rank, load_in_4bit: false, gradient_checkpointing: isCheckpointing },
    })
    assert.ok(Math.abs(estimated / peak - 1) < 0.25, JSON.stringify({ estimated, parts }))
  })
