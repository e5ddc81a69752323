// Our engine against the real vLLM on the CPU, over HTTP and with one thread each: a Llama of 76 million random weights in
// fp32 and in bf16, and typed answers of the default model. ANNEAL_BENCH_VLLM=float32 or bfloat16 measures one of them.
import { spawnSync } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseCatalogue, type CatalogueEntry } from '../src/domain/catalogue.ts'
import { parseOutputType } from '../src/domain/output-type.ts'
import { allowedCharacters, comfortableBound, maxPromptTokens } from '../src/inference/text-bounds.ts'
import { typedOutputRegex } from '../src/inference/typed-output.ts'
import { startEngine } from '../test/inference/support/engine-process.ts'
import { createFakeServers, tokenOf } from '../test/inference/support/fake-servers.ts'
import { startVllm } from '../test/lab/vllm/support/vllm-process.ts'
import { root, toolPath } from '../tools/paths.mjs'
import { untilAnswers } from './rounds.ts'
import { median } from './stack.ts'

const rounds = 3
const prompts = Array.from({ length: 64 }, (_, index) => `Question: What is product ${index}?\nAnswer: `)
const only = process.env['ANNEAL_BENCH_VLLM']

const [tiny] = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8'))).entries as [CatalogueEntry]
const folder = mkdtempSync(join(tmpdir(), 'anneal-bench-vllm-'))
process.once('exit', () => rmSync(folder, { recursive: true, force: true }))
const llama = join(folder, 'llama')
spawnSync(toolPath('python'), [join(root, 'bench/random_llama.py'), llama], { stdio: ['ignore', 'ignore', 'inherit'] })
// Only its weights count: `engine` decides which program serves them.
const weights = { path: llama }
const shipped = { path: join(root, 'models/anneal-tiny') }

type Side = { name: string; url: string; token: string }

/** @returns tokens a second of the answers to all prompts in one call */
async function tokensPerSecond({ name, url, token }: Side, more: object, asked: readonly string[]): Promise<number> {
  const startedAt = performance.now()
  const response = await fetch(`${url}/v1/completions`, {
    method: 'POST',
    headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
    body: JSON.stringify({ model: name, prompt: asked, temperature: 0, ...more }),
  })
  if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
  const { usage } = (await response.json()) as { usage: { completion_tokens: number } }
  return usage.completion_tokens / ((performance.now() - startedAt) / 1000)
}

/** Both sides answer in turn. The first round is a warm-up. */
async function compare(what: string, sides: readonly [Side, Side], more: object, asked: readonly string[]) {
  const speeds: [number[], number[]] = [[], []]
  for (let round = 0; round <= rounds; round++)
    for (const at of round % 2 ? ([0, 1] as const) : ([1, 0] as const)) {
      const speed = await tokensPerSecond(sides[at], more, asked)
      if (round > 0) speeds[at].push(speed)
    }
  const [ours, theirs] = speeds
  const ratios = ours.map((speed, round) => speed / (theirs[round] ?? Number.NaN))
  console.log(
    `${what.padEnd(36)} ours ${median(ours).toFixed(0)} tokens/s, vLLM ${median(theirs).toFixed(0)}: ` +
      `${median(ratios).toFixed(2)} (${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)})`,
  )
}

async function requireHealth(url: string): Promise<void> {
  const { ok, status } = await fetch(`${url}/health`)
  if (!ok) throw new Error(`health: ${status}`)
}

async function withBoth(entry: CatalogueEntry, measure: (sides: [Side, Side]) => Promise<void>) {
  const servers = createFakeServers()
  const vllm = await startVllm({ ...entry, name: 'vllm', engine: 'vllm' })
  const engine = await startEngine({ ...entry, name: 'ours' }, servers)
  try {
    await untilAnswers('vLLM', () => requireHealth(vllm.url), vllm.ended)
    await measure([
      { name: 'ours', url: engine.endpoint, token: tokenOf('ours', 1) },
      { name: 'vllm', url: vllm.url, token: 'none' },
    ])
  } finally {
    await Promise.all([engine.stop(), vllm.stop()])
  }
}

for (const dtype of ['float32', 'bfloat16'] as const) {
  if (only !== undefined && only !== dtype) continue
  await withBoth({ ...tiny, source: weights, dtype }, async (sides) => {
    for (const count of [1, 8, 64])
      await compare(`76M Llama, ${dtype}, ${count} at once`, sides, { max_tokens: 48 }, prompts.slice(0, count))
  })
}

if (only === undefined || only === 'typed') {
  const fields = parseOutputType({ colour: ['red', 'white', 'blue'], price: 'int', says: 'str' }) ?? []
  const promptTokens = Math.max(...prompts.map(maxPromptTokens))
  const room = { contextLength: tiny.contextLength, promptTokens }
  const bound = comfortableBound(fields, allowedCharacters(fields, 8), room)
  if (!bound) throw new Error('the answer has no room')
  const typed = { structured_outputs: { regex: typedOutputRegex(fields, bound) }, max_tokens: bound.maxTokens }
  await withBoth({ ...tiny, source: shipped }, (sides) => compare('2M model, typed, 64 at once', sides, typed, prompts))
}
process.exit(0)
