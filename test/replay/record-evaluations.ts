// As record.ts, for the workflow of evaluations:
//   ANNEAL_TEST_HOME=DIR node test/replay/record-evaluations.ts
import assert from 'node:assert/strict'
import { evaluationWorkflowId } from '../../src/domain/model-evaluation.ts'
import { eventually } from '../support/eventually.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { client, close, saveHistory } from './save-history.ts'

const api = await openAccount()
const models = [connection().baseModel]
const data = sampleRows.flatMap((row) =>
  Array.from({ length: 8 }, (_, at) => ({ ...row, input: `${row.input} (${at})` })),
)
await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'rows', data })

const submit = async (body: object) =>
  (await api.post<{ id: string }>('/v1/evaluations', { models, dataset_id: 'rows', max_tokens: 96, ...body })).id
const untilRunning = (id: string) =>
  eventually(async () => (await api.get<{ status: string }>(`/v1/evaluations/${id}`)).status === 'RUNNING')

const killed = await submit({})
await untilRunning(killed)
process.kill(connection().processes.worker ?? assert.fail(), 'SIGKILL')
await saveHistory('evaluation-killed', evaluationWorkflowId(killed))

const cancelled = await submit({})
await untilRunning(cancelled)
await api.post(`/v1/evaluations/${cancelled}/cancel`)
await saveHistory('evaluation-cancelled', evaluationWorkflowId(cancelled))

await api.post('/v1/local-data', { upload_base_path: 's3', dataset_id: 'bad', data: [{ input: 'no output' }] })
await saveHistory('evaluation-refused', evaluationWorkflowId(await submit({ dataset_id: 'bad' })))
assert.equal(
  await client.workflow
    .getHandle(evaluationWorkflowId(killed))
    .describe()
    .then(({ status }) => status.name),
  'COMPLETED',
)

await close()
