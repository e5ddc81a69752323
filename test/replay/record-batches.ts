// As record.ts, for the workflow of batches:
//   ANNEAL_TEST_HOME=DIR node test/replay/record-batches.ts
import assert from 'node:assert/strict'
import { inferenceBatchWorkflowId } from '../../src/domain/inference-batch.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { client, close, saveHistory } from './save-history.ts'
import { eventually, untilSucceeds } from '../support/eventually.ts'

const api = await openAccount()
const model_name = connection().baseModel
const prompts = Array.from({ length: 300 }, (_, index) => `${sampleRows[index % 40]?.input} (${index})`)

async function submit(body: object): Promise<string> {
  const { id } = await api.post<{ id: string }>('/v1/batch_completions', { model_name, ...body })
  return inferenceBatchWorkflowId(id)
}

const killed = await submit({ prompt: prompts, max_tokens: 96 })
await eventually(async () => {
  const description = await client.workflow
    .getHandle(killed)
    .describe()
    .catch(() => null)
  return description?.raw.pendingActivities?.some(({ lastStartedTime }) => lastStartedTime)
})
process.kill(connection().processes.worker ?? assert.fail(), 'SIGKILL')
await saveHistory('batch-killed', killed)

await saveHistory('batch-refused', await submit({ prompt: [...prompts, 'word '.repeat(20_000)], max_tokens: 4 }))

const cancelled = await submit({ prompt: prompts, max_tokens: 200 })
await untilSucceeds(() => client.workflow.getHandle(cancelled).cancel())
await saveHistory('batch-cancelled', cancelled)

await close()
