import assert from 'node:assert/strict'
import { test } from 'node:test'
import { modelOf } from '../../activities/publish.ts'
import type { Artifact, TrainingJob } from '../../src/domain/training-job.ts'

const job = { id: 7, accountId: 'a', baseModel: 'tiny' } as TrainingJob
const artifact = (...names: string[]) =>
  ({ id: 'c', files: names.map((name) => ({ name, key: `key of ${name}`, sizeBytes: 1, sha256: name })) }) as Artifact
const served = (...names: string[]) =>
  Object.fromEntries(modelOf(job, artifact(...names)).files.map(({ name, sha256 }) => [name, sha256]))

test('a checkpoint is published without the state of its training', () => {
  assert.deepEqual(served('adapter_config.json', 'adapter_model.safetensors', 'optimizer.safetensors'), {
    'adapter_config.json': 'adapter_config.json',
    'adapter_model.safetensors': 'adapter_model.safetensors',
  })
})

test('a checkpoint that carries the best step is published with the weights of that step', () => {
  assert.deepEqual(served('adapter_model.safetensors', 'best_adapter_model.safetensors'), {
    'adapter_model.safetensors': 'best_adapter_model.safetensors',
  })
})
