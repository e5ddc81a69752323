// Measures the overhead of the API on a prompt and on the first token of a stream, compared with the engine and with a bare
// proxy. Then measures requests per second and 10,000 typed prompts with an engine that costs nothing.
import { processId } from '../src/embedded/connection.ts'
import { watchProcess } from './api-process.ts'
import { fetchJson, inTurn, sayRatio } from './rounds.ts'
import { createClient, makeHome, median, quantile, startStack } from './stack.ts'
import { startStubReplica } from './stub-replica.ts'

const rounds = 300
/** A service that has run for a while: V8 compiles a function after some hundred calls. */
const warmUps = 500
const connections = 16
const secondsEach = 5
const count = 10_000

// Raises the limit of the key above the measured load.
Object.assign(process.env, { ANNEAL_REQUESTS_PER_SECOND: '1000000', ANNEAL_REQUEST_BURST: '1000000' })
const home = makeHome()
const stack = await startStack(home)
const { connection } = stack
const { apiUrl, apiKey, baseModel: model_name } = connection
const call = createClient(connection)
await call('POST', '/v1/completions', { model_name, prompt: 'warm', max_tokens: 1 })

const replica = await startStubReplica(home, connection)
const { urls, engine } = replica

const post = (bearer: string, body: object) => ({
  method: 'POST',
  headers: { authorization: `Bearer ${bearer}`, 'content-type': 'application/json' },
  body: JSON.stringify(body),
})
const asked = post(apiKey, { model_name, prompt: 'Is it warm?', max_tokens: 1 })
const direct = post(engine.token, { model: model_name, prompt: ['Is it warm?'], max_tokens: 1, temperature: 0 })
const throughApi = () => fetchJson(`${apiUrl}/v1/completions`, asked)
const through = (url: string) => () => fetchJson(`${url}/v1/completions`, direct)

const times = await inTurn(
  { api: throughApi, proxy: through(urls.proxyToEngine), engine: through(engine.url) },
  { rounds, warmUps },
)
const added = (name: 'api' | 'proxy', q: number) => quantile(times[name], q) - quantile(times.engine, q)
console.log(
  `the API adds ${added('api', 0.5).toFixed(2)} ms at p50, ${added('api', 0.99).toFixed(2)} ms at p99 (allowed 0.8, 3)`,
)
console.log(`a bare proxy ${added('proxy', 0.5).toFixed(2)} ms,        ${added('proxy', 0.99).toFixed(2)} ms`)
sayRatio('API / bare proxy at p50', times, ({ api, proxy }) => api / proxy)

/** @returns milliseconds until the first text of a stream. Reads it to its end, as clients do: the connection stays open */
async function firstToken(url: string, init: RequestInit): Promise<number> {
  const startedAt = performance.now()
  const response = await fetch(url, init)
  if (!response.ok || !response.body) throw new Error(`${url}: ${response.status}`)
  let [text, firstMs] = ['', 0]
  for await (const piece of response.body.pipeThrough(new TextDecoderStream())) {
    text += piece
    if (firstMs === 0 && /"(?:text|content)":"[^"]/.test(text)) firstMs = performance.now() - startedAt
  }
  if (firstMs === 0) throw new Error(`${url}: the stream has no text: ${text}`)
  return firstMs
}
const streamed = { prompt: 'Is it warm?', max_tokens: 4, temperature: 0, stream: true }
const streams = await inTurn(
  {
    api: () => firstToken(`${apiUrl}/openai/v1/completions`, post(apiKey, { model: model_name, ...streamed })),
    engine: () => firstToken(`${engine.url}/v1/completions`, post(engine.token, { model: model_name, ...streamed })),
  },
  { rounds, warmUps },
)
const [p50, p99] = [0.5, 0.99].map((q) => quantile(streams.api, q) - quantile(streams.engine, q)) as [number, number]
console.log(
  `first token of a stream: the API adds ${p50.toFixed(2)} ms at p50 (allowed 2), ${p99.toFixed(2)} ms at p99`,
)

await replica.replace()

async function requestsPerSecond(send: () => Promise<unknown>): Promise<number> {
  const until = performance.now() + secondsEach * 1000
  let done = 0
  const client = async () => {
    for (; performance.now() < until; done++) await send()
  }
  await Promise.all(Array.from({ length: connections }, client))
  return done / secondsEach
}
await throughApi()
const perSecond: { api: number[]; proxy: number[] } = { api: [], proxy: [] }
for (let round = 0; round < 3; round++) {
  perSecond.api.push(await requestsPerSecond(throughApi))
  perSecond.proxy.push(await requestsPerSecond(through(urls.proxyToStub)))
}
const [ours, theirs] = [median(perSecond.api), median(perSecond.proxy)]
console.log(
  `${connections} connections, stub engine: API ${ours.toFixed(0)}/s, bare proxy ${theirs.toFixed(0)}/s: ${(ours / theirs).toFixed(2)} (at least 0.5)`,
)

const body = {
  model_name,
  prompt: Array.from({ length: count }, (_, index) => `Question: What is product ${index}?\nAnswer: `),
  output_type: { colour: ['red', 'white'], price: 'int' },
}
const bodyMegabytes = Buffer.byteLength(JSON.stringify(body)) / 1024 / 1024
const api = watchProcess(processId(connection, 'api'))
const calls = []
for (let round = 0; round < 5; round++)
  calls.push(await api.during(() => call<object[]>('POST', '/v1/completions', body)))
if (calls.some(({ result }) => result.length !== count)) throw new Error('answers are missing')
const microseconds = median(calls.map(({ cpuSeconds }) => (cpuSeconds / count) * 1e6))
const times3 = Math.max(...calls.map(({ megabytes }) => megabytes)) / bodyMegabytes
console.log(
  `${count} typed prompts, stub engine: ${microseconds.toFixed(0)} µs of the api's processor time a prompt (allowed 50), ` +
    `memory above idle ${times3.toFixed(1)} times the body of ${bodyMegabytes.toFixed(2)} MB (allowed 3), ` +
    `${median(calls.map(({ seconds }) => seconds)).toFixed(2)} s`,
)

await replica.end()
await stack.stop()
