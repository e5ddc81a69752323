// Submit latency, one after the other, against what it cannot be faster than: one commit, and one empty route.
import express from 'express'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import pg from 'pg'
import { createClient, median, quantile, startStack } from './stack.ts'

const warmUps = 30
const rounds = 200

const stack = await startStack()
const { connection } = stack
const call = createClient(connection)
const { dataset_location } = await call<{ dataset_location: string }>('POST', '/v1/data', { dataset_id: 'bench' })
await fetch(dataset_location, { method: 'PUT', body: '{"input":"a","output":"b"}\n' })
// The jobs themselves are not what is measured.
process.kill(connection.processes.worker, 'SIGSTOP')

const database = new pg.Client({ connectionString: connection.databaseUrl })
await database.connect()
await database.query('create table bench_commits (id serial primary key, body text)')
const app = express()
app.post('/empty', express.json(), (_request, response) => void response.json({}))
const server = app.listen(0, '127.0.0.1')
await once(server, 'listening')
const empty = createClient({ ...connection, apiUrl: `http://127.0.0.1:${(server.address() as AddressInfo).port}` })

const body = { model_name: connection.baseModel, upload_file_path: dataset_location, finetune_args: { max_steps: 1 } }
const measured = {
  submit: () => call('POST', '/v1/train', body),
  commit: () => database.query('insert into bench_commits (body) values ($1)', [JSON.stringify(body)]),
  empty: () => empty('POST', '/empty', body),
}
const times: Record<keyof typeof measured, number[]> = { submit: [], commit: [], empty: [] }
for (let round = -warmUps; round < rounds; round++)
  for (const name of ['submit', 'commit', 'empty'] as const) {
    const startedAt = performance.now()
    await measured[name]()
    if (round >= 0) times[name].push(performance.now() - startedAt)
  }
for (const [name, values] of Object.entries(times))
  console.log(`${name.padEnd(6)} p50 ${median(values).toFixed(2)} ms  p99 ${quantile(values, 0.99).toFixed(2)} ms`)
const floor = median(times.commit) + median(times.empty)
console.log(`submit / (commit + empty route) at p50: ${(median(times.submit) / floor).toFixed(2)}`)

server.close()
await database.end()
process.kill(connection.processes.worker, 'SIGCONT')
await stack.stop()
