// `npm run bench`: each measures ours against a peer in the same run and prints the ratio. Nothing here is a test.
import { spawnSync } from 'node:child_process'
import { root, toolPath } from '../tools/paths.mjs'

const benches: Record<string, { says: string; command: string[] }> = {
  start: { says: '`npm start` until ready, everything cached', command: [process.execPath, 'bench/start.ts'] },
  submit: {
    says: 'POST /v1/train against a Postgres commit and an empty Express route',
    command: [process.execPath, 'bench/submit.ts'],
  },
  list: {
    says: 'a page of jobs: of 1,000,000 against of 1,000, and against a query by hand behind bare http',
    command: [process.execPath, 'bench/list.ts'],
  },
  ingest: {
    says: 'MB/s of POST /v1/local-data against JSON.parse per line, memory at a gigabyte, the check of a million rows',
    command: [process.execPath, 'bench/ingest.ts'],
  },
  batch: {
    says: '10,000 typed prompts in one call: against the engine alone, beside single prompts, through kill -9',
    command: [process.execPath, 'bench/batch.ts'],
  },
  'request-path': {
    says: 'a prompt through the API against the engine and against a bare proxy; 10,000 with an engine that costs nothing',
    command: [process.execPath, 'bench/request-path.ts'],
  },
  adapters: {
    says: 'one load mixed over up to 16 adapters against the same on one adapter and on the base, on the engine alone',
    command: [toolPath('python'), 'bench/adapters.py'],
  },
  typed: {
    says: "typed tokens/s against untyped ones and the library's JSON-schema mode; what compiling a grammar takes",
    command: [process.execPath, 'bench/typed.ts'],
  },
  embeddings: {
    says: '1,000 texts through the API against sentence-transformers, and how far apart the vectors are',
    command: [process.execPath, 'bench/embeddings.ts'],
  },
  'job-tax': {
    says: 'accepted → COMPLETED against the trainer run by hand',
    command: [process.execPath, 'bench/job-tax.ts'],
  },
  trainer: {
    says: 'tokens/s of the trainer against transformers Trainer + peft',
    command: [toolPath('python'), 'bench/trainer.py'],
  },
  cluster: {
    says: 'launch, status, cancel and tax of jobs on a Kubernetes of its own against the same by hand; 1,000 that wait',
    command: [process.execPath, 'test/cluster/run.ts', '--run', 'bench/cluster.ts'],
  },
}

const asked = process.argv.slice(2)
const unknown = asked.find((name) => !Object.hasOwn(benches, name))
if (unknown !== undefined) {
  const list = Object.entries(benches).map(([name, { says }]) => `  ${name.padEnd(12)} ${says}`)
  console.log(['npm run bench -- [NAME ...]', ...list].join('\n'))
  process.exit(unknown === '--help' ? 0 : 2)
}

for (const [name, { says, command }] of Object.entries(benches)) {
  if (asked.length > 0 && !asked.includes(name)) continue
  console.log(`\n== ${name}: ${says}`)
  const [program = '', ...args] = command
  const env = { ...process.env, PYTHONPATH: `${root}/runtime`, OMP_NUM_THREADS: '1', OMP_WAIT_POLICY: 'passive' }
  const { status } = spawnSync(program, args, { cwd: root, env, stdio: 'inherit' })
  if (status !== 0) process.exitCode = 1
}
