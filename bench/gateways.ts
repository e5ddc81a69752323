// Chat completions through our API, Portkey's gateway and LiteLLM's proxy, each before the same engine that answers after a
// fixed time, over 16 connections: latency and requests a second. Only our API checks a key in a database and counts usage.
import { spawn, type ChildProcess } from 'node:child_process'
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { freePort } from '../test/support/free-port.ts'
import { clientEnv, clientPackages } from '../tools/setup/client-env.mjs'
import { fetchJson, untilAnswers } from './rounds.ts'
import { createClient, makeHome, median, quantile, startStack } from './stack.ts'
import { startStubReplica } from './stub-replica.ts'

const connections = 16
const secondsEach = 5
const rounds = 3

type Gateway = { name: string; send: () => Promise<unknown> }

const litellm = await clientEnv('bench/gateways/litellm.txt', { space: '1 GB' })
const portkey = await clientPackages('bench/gateways')
const children: ChildProcess[] = []
process.once('exit', () => children.forEach((child) => child.kill('SIGKILL')))

// Raises the limit of the key above the measured load.
Object.assign(process.env, { ANNEAL_REQUESTS_PER_SECOND: '1000000', ANNEAL_REQUEST_BURST: '1000000' })
const home = makeHome()
const stack = await startStack(home)
const { connection } = stack
const { apiUrl, apiKey, baseModel: model } = connection
await createClient(connection)('POST', '/v1/completions', { model_name: model, prompt: 'warm', max_tokens: 1 })
const replica = await startStubReplica(home, connection)
await replica.replace()

const body = JSON.stringify({ model, messages: [{ role: 'user', content: 'Is it warm?' }], max_tokens: 8 })
const post = (url: string, headers: Record<string, string>) => () =>
  fetchJson(url, { method: 'POST', headers: { 'content-type': 'application/json', ...headers }, body })

/** Starts a program and waits until it passes a request on. */
async function start(command: string[], env: Record<string, string>, send: () => Promise<unknown>): Promise<void> {
  const [program = '', ...args] = command
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], ...env }, stdio: 'ignore' })
  children.push(child)
  await untilAnswers(program, send, once(child, 'exit'))
}

async function startPortkey(): Promise<Gateway> {
  const port = await freePort()
  const send = post(`http://127.0.0.1:${port}/v1/chat/completions`, {
    'x-portkey-provider': 'openai',
    'x-portkey-custom-host': `${replica.urls.stub}/v1`,
    authorization: 'Bearer none',
  })
  const program = join(portkey, 'node_modules/@portkey-ai/gateway/build/start-server.js')
  await start([process.execPath, program, `--port=${port}`, '--headless'], { NODE_ENV: 'production' }, send)
  return { name: "Portkey's gateway 1.15.2", send }
}

async function startLitellm(): Promise<Gateway> {
  const port = await freePort()
  const folder = mkdtempSync(join(tmpdir(), 'anneal-litellm-'))
  process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
  const params = { model: `openai/${model}`, api_base: `${replica.urls.stub}/v1`, api_key: 'none' }
  const config = { model_list: [{ model_name: model, litellm_params: params }] }
  writeFileSync(join(folder, 'config.yaml'), JSON.stringify(config))
  // LiteLLM starts with no weaker key.
  const key = `sk-${randomBytes(32).toString('hex')}`
  const send = post(`http://127.0.0.1:${port}/v1/chat/completions`, { authorization: `Bearer ${key}` })
  const command = [join(litellm, 'bin/litellm'), '--config', join(folder, 'config.yaml'), '--host', '127.0.0.1']
  const env = { HOME: folder, LITELLM_LOCAL_MODEL_COST_MAP: 'True', LITELLM_MASTER_KEY: key }
  await start([...command, '--port', String(port)], env, send)
  return { name: "LiteLLM's proxy 1.108.7", send }
}

/** @returns the latencies of a few seconds, in milliseconds */
async function load({ send }: Gateway): Promise<number[]> {
  const until = performance.now() + secondsEach * 1000
  const times: number[] = []
  const client = async () => {
    while (performance.now() < until) {
      const startedAt = performance.now()
      await send()
      times.push(performance.now() - startedAt)
    }
  }
  await Promise.all(Array.from({ length: connections }, client))
  return times
}

const gateways: Gateway[] = [
  { name: 'our API', send: post(`${apiUrl}/openai/v1/chat/completions`, { authorization: `Bearer ${apiKey}` }) },
  await startPortkey(),
  await startLitellm(),
  { name: 'a bare proxy', send: post(`${replica.urls.proxyToStub}/v1/chat/completions`, {}) },
]
const measured = new Map(gateways.map((gateway) => [gateway, [] as number[][]]))
for (const gateway of gateways) await load(gateway)
for (let round = 0; round < rounds; round++)
  for (const gateway of gateways) measured.get(gateway)?.push(await load(gateway))
for (const [{ name }, times] of measured) {
  const at = (q: number) => median(times.map((each) => quantile(each, q))).toFixed(1)
  const perSecond = median(times.map(({ length }) => length / secondsEach)).toFixed(0)
  console.log(`${name.padEnd(26)} p50 ${at(0.5)} ms, p99 ${at(0.99)} ms, ${perSecond} requests/s`)
}
await replica.end()
await stack.stop()
process.exit(0)
