// `npm run bench`: compares the product with baselines in the same run and prints the ratios. These are not tests.
import { spawnSync } from 'node:child_process'
import { root, toolPath } from '../tools/paths.mjs'

const benches: Record<string, { says: string; command: string[] }> = {
  submit: {
    says: 'latency of POST /v1/train against a Postgres commit plus an empty Express route',
    command: [process.execPath, 'bench/submit.ts'],
  },
  list: {
    says: 'a page of jobs out of 1,000,000 against one out of 1,000, and against a bare query behind bare http',
    command: [process.execPath, 'bench/list.ts'],
  },
  'job-stream': {
    says: '1,000 followers of a job against one and none; the first page of metrics of 100,000 steps against one of 1,000',
    command: [process.execPath, 'bench/job-stream.ts'],
  },
  consoles: {
    says: '500 consoles on one job against one and none: processor time of the api, transactions of the database',
    command: [process.execPath, 'bench/consoles.ts'],
  },
  'console-memory': {
    says: "a job's page that stays open for ANNEAL_BENCH_MINUTES (10) while the job reports, against a fresh page of the job",
    command: [process.execPath, 'test/console/browser/bench-memory.ts'],
  },
  'console-pages': {
    says: 'first load with 10,000 jobs; a job of 100,000 steps: time to draw, and frames while zooming, from a trace of Chromium',
    command: [process.execPath, 'test/console/browser/bench-pages.ts'],
  },
  'console-bytes': {
    says: 'what the list of 10,000 jobs downloads: its first page, an idle and a busy minute, and the first row on a slow line',
    command: [process.execPath, 'test/console/browser/bench-bytes.ts'],
  },
  lighthouse: {
    says: "Lighthouse's marks for the pages of the console; fetches Lighthouse from npm",
    command: [process.execPath, 'test/console/browser/bench-lighthouse.ts'],
  },
  'first-answer': {
    says: 'clicks and seconds of a new user from `npm start` to an answer of a model tuned in the console, with a picture of each step',
    command: [process.execPath, 'test/console/browser/bench-first-answer.ts'],
  },
  ingest: {
    says: 'MB/s of POST /v1/local-data against JSON.parse per line, memory at a gigabyte, validation of a million rows',
    command: [process.execPath, 'bench/ingest.ts'],
  },
  batch: {
    says: '10,000 typed prompts in one call: against the engine alone, beside single prompts, through a kill -9',
    command: [process.execPath, 'bench/batch.ts'],
  },
  'request-path': {
    says: 'a prompt through the API against the engine alone and a bare proxy; 10,000 prompts with an engine that costs nothing',
    command: [process.execPath, 'bench/request-path.ts'],
  },
  gateways: {
    says: "chat over 16 connections against Portkey's gateway and LiteLLM's proxy, with an engine that costs nothing",
    command: [process.execPath, 'bench/gateways.ts'],
  },
  adapters: {
    says: 'one load over up to 16 adapters against one adapter and against the base, on the engine alone',
    command: [toolPath('python'), 'bench/adapters.py'],
  },
  'typed-facts': {
    says: 'facts that a real model learned, asked as text and as types: right answers by the form of its rows; half an hour',
    command: [process.execPath, 'bench/typed-facts.ts'],
  },
  typed: {
    says: "typed tokens/s against untyped ones and the library's JSON-schema mode; time to compile a grammar",
    command: [process.execPath, 'bench/typed.ts'],
  },
  embeddings: {
    says: '1,000 texts through the API against sentence-transformers, and the difference of the vectors',
    command: [process.execPath, 'bench/embeddings.ts'],
  },
  vllm: {
    says: 'tokens/s of our engine against the real vLLM on the CPU: a Llama in fp32 and bf16, and typed answers',
    command: [process.execPath, 'bench/vllm.ts'],
  },
  'real-model': {
    says: "our engine and trainer with smollm2 against transformers' generate, vLLM on the CPU, llama.cpp and a plain PEFT loop",
    command: [process.execPath, 'bench/real-model.ts'],
  },
  estimate: {
    says: 'the estimate of a dry run against the real duration of five jobs',
    command: [process.execPath, 'bench/estimate.ts'],
  },
  validation: {
    says: 'time of validation against the rest of a training',
    command: [toolPath('python'), 'bench/validation.py'],
  },
  'token-accuracy': {
    says: 'time of the token accuracy of training against the rest of the steps',
    command: [toolPath('python'), 'bench/token_accuracy.py'],
  },
  trainer: {
    says: 'tokens/s of the trainer against transformers Trainer + peft',
    command: [toolPath('python'), 'bench/trainer.py'],
  },
  methods: {
    says: 'processor time of a training by each method against TRL, on the same rows of mixed length',
    command: [process.execPath, 'bench/methods.ts'],
  },
  rollouts: {
    says: "sampling in the trainer against transformers' generate, and the loop's own share of a reinforcement step",
    command: [toolPath('python'), 'bench/rollouts.py'],
  },
  gpu: {
    says: 'on a GPU: trainer, methods and engine against transformers and TRL, exact resume, memory, a shared base; small on a CPU',
    command: [
      toolPath('python'),
      'bench/gpu',
      'methods',
      'resumes',
      'sharded',
      'trainer',
      'resume',
      'memory',
      'engine',
    ],
  },
  cluster: {
    says: 'launch, status, cancel and tax of jobs on a cluster of its own against bare Kubernetes objects; 1,000 pending jobs',
    command: [process.execPath, 'test/lab/cluster/run.ts', '--run', 'bench/cluster.ts'],
  },
}

const given = process.argv.slice(2)
const firstOption = given.findIndex((each, at) => at > 0 && each.startsWith('-'))
const [asked, options] = firstOption < 0 ? [given, []] : [given.slice(0, firstOption), given.slice(firstOption)]
const unknown = asked.find((name) => !Object.hasOwn(benches, name))
if (unknown !== undefined) {
  const list = Object.entries(benches).map(([name, { says }]) => `  ${name.padEnd(14)} ${says}`)
  console.log(['npm run bench -- [NAME ... [options of the bench]]', ...list].join('\n'))
  process.exit(unknown === '--help' ? 0 : 2)
}

for (const [name, { says, command }] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  console.log(`\n== ${name}: ${says}`)
  const [program = '', ...args] = command
  const env = { ...process.env, PYTHONPATH: `${root}/runtime`, OMP_NUM_THREADS: '1', GOMP_SPINCOUNT: '10000' }
  const { status } = spawnSync(program, [...args, ...options], { cwd: root, env, stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
