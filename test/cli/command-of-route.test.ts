import assert from 'node:assert/strict'
import { test } from 'node:test'
import { inWordsOfCommands } from '../../src/cli/remote/command-of-route.ts'

test('a sentence of the service names commands and options', () => {
  for (const [sentence, shown] of [
    ['There is no model "x". GET /v1/models lists them.', 'There is no model "x". `anneal models list` lists them.'],
    ['Close a stream, or poll GET /v1/train/jobs/{id}.', 'Close a stream, or poll `anneal job`.'],
    ['POST /v1/data/{dataset_id}/columns makes such rows.', '`anneal data map` makes such rows.'],
    ['finetune_args.max_steps must be at least 1.', '--set max_steps must be at least 1.'],
    ['X-Anneal-Account is missing. Send one of a, b.', '--account is missing. Send one of a, b.'],
    ['gpu_config.gpus may be at most 0 here.', '--gpus may be at most 0 here.'],
  ] as const)
    assert.equal(inWordsOfCommands(sentence), shown)
})

test('a route without a command, and any other sentence, stay as they are', () => {
  for (const sentence of [
    'Nothing is kept under the id "x": POST /v1/svc/data stores rows there.',
    'Job 7 is COMPLETED and cannot be cancelled.',
    'model_names are kept.',
  ])
    assert.equal(inWordsOfCommands(sentence), sentence)
})
