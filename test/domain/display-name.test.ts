import assert from 'node:assert/strict'
import { test } from 'node:test'
import { checkpointDisplayName, datasetDisplayName, jobDisplayName } from '../../src/domain/display-name.ts'

const parts = {
  jobId: 7,
  customModelName: null,
  modelVersion: null,
  datasetId: 'products',
  fileName: null,
  datasetRun: 2,
}
const uuid = '1c0e7d3e-8f6a-4c7a-9d4f-0a1b2c3d4e5f'

test('a job is named by its custom name, and by the version once it has a model', () => {
  assert.equal(jobDisplayName({ ...parts, customModelName: 'pip' }), 'pip')
  assert.equal(jobDisplayName({ ...parts, customModelName: 'pip', modelVersion: 2 }), 'pip@2')
})

test('a job without a name is named by its data set and its number there', () => {
  assert.equal(jobDisplayName(parts), 'products, run 2')
  assert.equal(jobDisplayName({ ...parts, customModelName: '' }), 'products, run 2')
  assert.equal(jobDisplayName({ ...parts, datasetId: 'file-1', fileName: 'talks.jsonl.gz' }), 'talks, run 2')
})

test('a job on rows without a name, or without a number, has its own number', () => {
  for (const datasetId of [uuid, 'file-1', 'a'.repeat(32)])
    assert.equal(jobDisplayName({ ...parts, datasetId }), 'job 7', datasetId)
  assert.equal(jobDisplayName({ ...parts, datasetRun: null }), 'job 7')
})

test('a data set is named by its file, a checkpoint by its job and step', () => {
  assert.equal(datasetDisplayName({ datasetId: 'file-1', fileName: 'talks.jsonl' }), 'talks.jsonl')
  assert.equal(datasetDisplayName(parts), 'products')
  assert.equal(checkpointDisplayName('pip@2', 60), 'pip@2, step 60')
})
