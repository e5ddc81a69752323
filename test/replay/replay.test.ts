// Recorded histories of every path still replay: a change of a workflow that would strand running jobs fails here.
// record.ts records them.
import { bundleWorkflowCode, Worker } from '@temporalio/worker'
import { DeterminismViolationError } from '@temporalio/workflow'
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { fileURLToPath } from 'node:url'

const folder = join(import.meta.dirname, 'histories')
// Once for all: bundling costs more than the replays.
const workflowBundle = await bundleWorkflowCode({
  workflowsPath: fileURLToPath(new URL('../../workflows/index.ts', import.meta.url)),
})
const read = (file: string) => readFileSync(join(folder, file), 'utf8')

for (const file of readdirSync(folder))
  test(`replays ${file}`, () => Worker.runReplayHistory({ workflowBundle }, JSON.parse(read(file))))

test('a changed order of activities is noticed', async () => {
  const changed = read('completed.json').replaceAll('"openAttempt"', '"openAnotherAttempt"')
  await assert.rejects(Worker.runReplayHistory({ workflowBundle }, JSON.parse(changed)), DeterminismViolationError)
})
