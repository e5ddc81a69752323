// Our engine with a real chat model beside what people would use instead, over HTTP where the peer has it: transformers'
// generate, vLLM on the CPU, and for the GGUF file itself (`--dtype gguf`) llama.cpp by node-llama-cpp. All sides answer the
// same prompts in turn, with as many threads each. Then our trainer beside transformers' Trainer with PEFT, on rows of mixed
// and of equal length. `--busy` keeps one core busy meanwhile; `--part`, `--dtype`, `--counts` and `--rounds` choose what is
// measured.
import { spawn, spawnSync } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { parseCatalogue, type CatalogueEntry } from '../src/domain/catalogue.ts'
import { startEngine } from '../test/inference/support/engine-process.ts'
import { createFakeServers, tokenOf } from '../test/inference/support/fake-servers.ts'
import { startVllm } from '../test/lab/vllm/support/vllm-process.ts'
import { root, toolPath } from '../tools/paths.mjs'
import { clientPackages } from '../tools/setup/client-env.mjs'
import { untilAnswers } from './rounds.ts'
import { median } from './stack.ts'

const { values: options } = parseArgs({
  options: {
    part: { type: 'string', multiple: true, default: ['engine', 'trainer'] },
    dtype: { type: 'string', multiple: true, default: ['float32', 'bfloat16', 'gguf'] },
    counts: { type: 'string', default: '1,8,32,64' },
    rounds: { type: 'string', default: '3' },
    threads: { type: 'string', default: '2' },
    'no-vllm': { type: 'boolean', default: false },
    busy: { type: 'boolean', default: false },
  },
})
const counts = options.counts.split(',').map(Number)
const maxTokens = 32
const prompts = Array.from(
  { length: 64 },
  (_, index) =>
    `<|im_start|>user\nTell me a long story about the number ${index + 10}.<|im_end|>\n<|im_start|>assistant\n`,
)

type Answered = { tokens: number; seconds: number }
type Side = { name: string; answer: (asked: readonly string[]) => Promise<Answered>; stop: () => Promise<void> }

const entry = realModel()
const { folder, file } = filesOf(entry)
const threads = { OMP_NUM_THREADS: options.threads, TQDM_DISABLE: '1' }

function realModel(): CatalogueEntry {
  const { entries } = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8')))
  const found = entries.find(({ name }) => name === 'smollm2')
  if (!found) throw new Error('models.json has no smollm2')
  return { ...found, maxBatch: 64, contextLength: 1024 }
}

/** Fetches the model if need be. */
function filesOf({ source }: CatalogueEntry): { folder: string; file: string } {
  const program = join(root, 'bench/real-model/files.py')
  const { stdout, status } = spawnSync(toolPath('python'), [program, JSON.stringify(source)], {
    env: { ...process.env, PYTHONPATH: join(root, 'runtime') },
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  if (status !== 0) throw new Error('the model cannot be fetched')
  return JSON.parse(stdout.toString().trim().split('\n').at(-1) ?? '') as { folder: string; file: string }
}

/** A program that answers each line with a line. */
function lineSide(name: string, command: string[], env: Record<string, string>): Side {
  const [program = '', ...args] = command
  const child = spawn(program, args, { env: { PATH: process.env['PATH'], ...env }, stdio: ['pipe', 'pipe', 'inherit'] })
  process.once('exit', () => child.kill('SIGKILL'))
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    name,
    async answer(asked) {
      child.stdin.write(`${JSON.stringify({ prompts: asked, max_tokens: maxTokens })}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${name} has ended`)
      return JSON.parse(value) as Answered
    },
    async stop() {
      child.stdin.end()
      if (child.exitCode === null) await once(child, 'exit')
    },
  }
}

function httpSide(name: string, url: string, model: string, token: string, stop: () => Promise<void>): Side {
  return {
    name,
    stop,
    async answer(asked) {
      const startedAt = performance.now()
      const response = await fetch(`${url}/v1/completions`, {
        method: 'POST',
        headers: { authorization: `Bearer ${token}`, 'content-type': 'application/json' },
        body: JSON.stringify({ model, prompt: asked, temperature: 0, max_tokens: maxTokens }),
      })
      if (!response.ok) throw new Error(`${name}: ${response.status} ${await response.text()}`)
      const { usage } = (await response.json()) as { usage: { completion_tokens: number } }
      return { tokens: usage.completion_tokens, seconds: (performance.now() - startedAt) / 1000 }
    },
  }
}

async function ours(how: NonNullable<CatalogueEntry['dtype']> | 'llama.cpp'): Promise<Side> {
  const model: CatalogueEntry = { ...entry, name: 'ours' }
  if (how === 'llama.cpp') model.engine = how
  else model.dtype = how
  const engine = await startEngine(model, createFakeServers(), 1, threads)
  return httpSide(`ours, ${how}`, engine.endpoint, 'ours', tokenOf('ours', 1), () => engine.stop())
}

async function vllm(dtype: 'float32' | 'bfloat16'): Promise<Side> {
  const server = await startVllm({ ...entry, name: 'vllm', engine: 'vllm', source: { path: folder }, dtype }, threads)
  const side = httpSide('vLLM', server.url, 'vllm', 'none', () => server.stop())
  await untilAnswers('vLLM', () => side.answer(prompts.slice(0, 1)), server.ended)
  return side
}

const generate = (dtype: string) =>
  lineSide('generate', [toolPath('python'), join(root, 'bench/real-model/generate.py'), folder, dtype], threads)

async function llamaCpp(): Promise<Side> {
  const packages = await clientPackages(join(root, 'bench/real-model'), { withOptional: false })
  const program = join(root, 'bench/real-model/llama.mjs')
  return lineSide('node-llama-cpp', [process.execPath, program, packages, file, options.threads], {})
}

async function compare(sides: Side[]) {
  for (const side of sides) await side.answer(prompts.slice(0, 2))
  for (const count of counts) {
    const speeds = sides.map(() => [] as number[])
    for (let round = 0; round < Number(options.rounds); round++)
      for (const [at, side] of round % 2 ? [...sides.entries()].toReversed() : sides.entries()) {
        const { tokens, seconds } = await side.answer(prompts.slice(0, count))
        speeds[at]?.push(tokens / seconds)
      }
    const [mine = [], ...others] = speeds
    const peers = others.map((theirs, at) => {
      const ratios = mine.map((speed, round) => speed / (theirs[round] ?? Number.NaN))
      const spread = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
      return `${sides[at + 1]?.name} ${median(theirs).toFixed(1)}: ${median(ratios).toFixed(2)} (${spread})`
    })
    const [own] = sides
    console.log(
      `${own?.name}, ${String(count).padStart(2)} at once: ${median(mine).toFixed(1)} tokens/s; ${peers.join('; ')}`,
    )
  }
  for (const side of sides) await side.stop()
}

console.log(
  `${options.threads} threads each, load ${loadavg()[0]?.toFixed(1)}${options.busy ? ', beside one busy core' : ''}`,
)
const busy = options.busy ? spawn(process.execPath, ['-e', 'for (;;);'], { stdio: 'ignore' }) : undefined
process.once('exit', () => busy?.kill('SIGKILL'))
for (const dtype of options.part.includes('engine') ? options.dtype : []) {
  if (dtype === 'gguf') await compare([await ours('llama.cpp'), await llamaCpp(), await ours('int8')])
  else if (dtype === 'float32' || dtype === 'bfloat16')
    await compare([await ours(dtype), generate(dtype), ...(options['no-vllm'] ? [] : [await vllm(dtype)])])
  else throw new Error(`--dtype ${dtype}: float32, bfloat16 or gguf`)
}
if (options.part.includes('trainer'))
  for (const dtype of options.dtype.filter((each) => each !== 'gguf'))
    for (const sigma of ['0.8', '0']) {
      const settings = ['--steps', '2', '--rounds', options.rounds, '--rank', '16', '--dtype', dtype, '--sigma', sigma]
      console.log(`training, ${dtype}, lengths of sigma ${sigma}:`)
      const { status } = spawnSync(
        toolPath('python'),
        [join(root, 'bench/trainer.py'), '--model', folder, ...settings],
        {
          env: { ...process.env, PYTHONPATH: join(root, 'runtime'), ...threads },
          stdio: 'inherit',
        },
      )
      if (status !== 0) process.exitCode = 1
    }
process.exit()
