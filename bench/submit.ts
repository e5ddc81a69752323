// Latency of sequential submits, compared with one commit plus one empty route.
import pg from 'pg'
import { processId } from '../src/embedded/connection.ts'
import { fetchJson, inTurn, sayRatio, startBaseline } from './rounds.ts'
import { createClient, startStack } from './stack.ts'

const rounds = 400
/** All rounds together stay below the account's limit of open jobs. */
const roundsOnFreshData = 60

const stack = await startStack()
const { connection } = stack
const call = createClient(connection)
// The jobs must not run: only their acceptance is measured.
process.kill(processId(connection, 'worker'), 'SIGSTOP')
const database = new pg.Client({ connectionString: connection.databaseUrl })
await database.connect()
await database.query('create table bench_commits (id serial primary key, body text)')
const baseline = await startBaseline(connection.databaseUrl)

async function upload(datasetId: string): Promise<string> {
  const { dataset_location } = await call<{ dataset_location: string }>('POST', '/v1/data', { dataset_id: datasetId })
  await fetch(dataset_location, { method: 'PUT', body: '{"input":"a","output":"b"}\n' })
  return dataset_location
}
const request = (location: string) => ({
  model_name: connection.baseModel,
  upload_file_path: location,
  finetune_args: { max_steps: 1 },
})
const body = JSON.stringify(request(await upload('bench')))
const headers = { authorization: `Bearer ${connection.apiKey}`, 'content-type': 'application/json' }
const submit = (text: string, more = {}) =>
  fetchJson(`${connection.apiUrl}/v1/train`, { method: 'POST', headers: { ...headers, ...more }, body: text })
const baselines = {
  commit: () => database.query('insert into bench_commits (body) values ($1)', [body]),
  empty: () => fetchJson(baseline.urls.empty, { method: 'POST', headers, body }),
}
const limits = 'allowed: 1.5; p99 10 ms on a machine alone'

const times = await inTurn({ submit: () => submit(body), ...baselines }, { rounds })
sayRatio(`submit / (commit + empty route) at p50 (${limits})`, times, ({ submit: ours, commit, empty }) => {
  return ours / (commit + empty)
})

const fresh: string[] = []
for (let n = 0; n < roundsOnFreshData + 10; n++) fresh.push(JSON.stringify(request(await upload(`bench-${n}`))))
let next = 0
const measured = {
  'with a key': () => submit(body, { 'idempotency-key': crypto.randomUUID() }),
  'first on new data': () => submit(fresh[next++] ?? ''),
  ...baselines,
}
const more = await inTurn(measured, { rounds: roundsOnFreshData, warmUps: 10 })
sayRatio('with an Idempotency-Key', more, (medians) => medians['with a key'] / (medians.commit + medians.empty))
sayRatio('first job on an upload (looks into the object store)', more, (medians) => {
  return medians['first on new data'] / (medians.commit + medians.empty)
})

baseline.stop()
await database.end()
process.kill(processId(connection, 'worker'), 'SIGCONT')
await stack.stop()
