// `npm run test:deep`: what a landing does not run whole. Whoever changes what a suite covers runs it.
import { spawnSync } from 'node:child_process'
import { parseArgs } from 'node:util'
import { root } from '../tools/paths.mjs'

type Suite = { what: string; when: string; args: string[]; env?: Record<string, string> }

const lane = (text: string) => ['test/run.ts', '--lane', 'deep', '--only', text]

const suites: Record<string, Suite> = {
  simulation: {
    what: '5,000 seeded schedules of crashes, lost answers and outages, and every planted bug',
    when: 'after a change of workflows/, activities/, src/loops, src/temporal or a guarded write of src/repositories',
    args: lane('lab/simulation/'),
  },
  jobs: {
    what: 'kills of all processes, reaper, retention, limits of an attempt, late launches, adapters, aliases that move under load, usage and webhooks of real jobs',
    when: 'after a change of the workflow, the reaper, retention or the trainer',
    args: lane('test/e2e/'),
  },
  clients: {
    what: 'the openai SDK of Node, older lamini SDKs, generated and packed clients, ten tasks at the command line, the commands of the API guide, random requests',
    when: 'after a change of a route, a schema or the API guide',
    args: lane('test/clients/'),
  },
  restore: {
    what: 'backup, loss and restore of each store while jobs run',
    when: 'after a change of the reaper, of storage keys or of the stack that npm start runs; before a release',
    args: lane('embedded/restore'),
  },
  keyless: {
    what: 'api, worker and signed URLs with credentials of the store that end every few seconds; ANNEAL_KEYLESS_MINUTES sets for how long',
    when: 'after a change of src/storage',
    args: ['--test', 'test/storage/keyless.deep.test.ts'],
  },
  pooler: {
    what: 'the API lane through PgBouncer in transaction mode, as a user who may not change the schema; needs pgbouncer',
    when: 'after a change of src/repositories or a migration',
    args: ['test/lab/pooler/pooler.ts'],
  },
  servers: {
    what: 'two replicas of a model server under kill -9, Temporal behind TLS, fine-tunes that continue in a new run, turns of batches, jobs ordered through Nexus',
    when: 'after a change of replicas, failover, the connection to Temporal, or the workflows of fine-tunes and batches',
    args: [
      'test/run.ts',
      ...['--lane', 'deep', 'test/embedded/replicas.deep.test.ts', 'test/temporal/tls.deep.test.ts'],
      'test/temporal/nexus.deep.test.ts',
      ...['test/workflows/long-fine-tune.deep.test.ts', 'test/workflows/batch-turns.deep.test.ts'],
    ],
  },
  vllm: {
    what: 'the real vLLM on the CPU behind our sidecar, against our own engine, and under kill -9; 7 GB of downloads once',
    when: "after a change of the sidecar, of vLLM's command line or of what src/inference asks of an engine",
    args: ['--test', '--test-concurrency=1', 'test/lab/vllm/vllm.deep.test.ts', 'test/lab/vllm/kills.deep.test.ts'],
  },
  console: {
    what: 'the console while the worker and a trainer are killed; two jobs compared, an alias moved',
    when: 'after a change of console/ or of the stream of a job',
    args: ['test/run.ts', 'test/console/browser/kills.deep.test.ts'],
  },
  supervisor: {
    what: 'the stack of npm start after kill -9 of each process and of all, with taken ports, interrupted',
    when: 'after a change of src/embedded',
    args: lane('embedded/supervisor'),
  },
  python: {
    what: 'trainers of several processes, resumes with every optimizer, full disks',
    when: 'after a change of runtime/',
    args: ['tools/python.mjs', 'test', '--quiet', '-m', 'slow'],
  },
  graders: {
    what: 'programs of users that take all the time, memory and disk of their sandbox; needs bubblewrap',
    when: 'after a change of src/grading/python, or of the kernel that it is to run on',
    args: ['--test', 'test/grading/python/sandbox.deep.test.ts'],
  },
  network: {
    what: 'an object store behind a network that swallows packets',
    when: 'after a change of src/storage',
    args: lane('storage/silence'),
  },
  'real-model': {
    what: 'a chat model of 135 million weights, trained and asked on every surface, against plain transformers and PEFT; 93 MB of downloads once',
    when: 'after a change of decoding, tokenization, training or exports in runtime/, or of the routes that generate',
    args: lane('test/real-model/'),
    env: { ANNEAL_TEST_MODELS: 'test/real-model/models.json' },
  },
  'real-chat-model': {
    what: 'the same chat model tuned on conversations: chats, completions, batches and evaluations agree',
    when: 'after a change of the form in which models are asked, or of evaluations',
    args: lane('test/real-chat-model/'),
    env: { ANNEAL_TEST_MODELS: 'test/real-chat-model/models.json' },
  },
  'real-model-llama-cpp': {
    what: 'the same chat model, trained and then served by the engine llama.cpp, with types, streams and exports',
    when: 'after a change of runtime/anneal_runtime/server/llama_cpp, or of the version of @node-llama-cpp',
    args: lane('test/real-model/tuned'),
    env: { ANNEAL_TEST_MODELS: 'test/real-model/models-llama-cpp.json' },
  },
  'typed-output': {
    what: '21,000 typed answers and as many of JSON schemas, of models with random weights',
    when: 'after a change of typed output or of the decoding in runtime/',
    args: lane('inference/typed-output-generations'),
    env: { ANNEAL_TYPED_GENERATIONS: '21000' },
  },
  faults: {
    what: 'the real stack under seeded faults for ten minutes, with a new seed',
    when: 'after a change of anything that recovers',
    args: ['test/lab/faults/cli.ts'],
  },
  isolation: {
    what: 'attacks of one account on another, with the victim measured alone and under attack',
    when: 'after a change of a limit, a queue, a pool or of anything that many accounts share; needs a quiet machine',
    args: ['test/lab/isolation/run.ts'],
  },
  cluster: {
    what: 'all suites on a real Kubernetes cluster, from nothing to nothing left',
    when: 'after a change of src/compute/kubernetes, k8s/ or the Dockerfile',
    args: ['test/lab/cluster/run.ts'],
  },
}

const usage = `npm run test:deep [-- --list | SUITE ...]
  --list   what each suite is for and when to run it
  SUITE    ${Object.keys(suites).join(', ')}; default: all`

const { values, positionals } = parseArgs({
  options: { list: { type: 'boolean' }, help: { type: 'boolean' } },
  allowPositionals: true,
})
const unknown = positionals.find((name) => !(name in suites))

if (values.help) console.log(usage)
else if (values.list)
  for (const [name, { what, when }] of Object.entries(suites)) console.log(`${name}\n  ${what}\n  ${when}`)
else if (unknown !== undefined) {
  console.error(`There is no suite "${unknown}".\n${usage}`)
  process.exitCode = 2
} else process.exitCode = runSuites(positionals.length > 0 ? positionals : Object.keys(suites))

/** One after the other: each may use the whole machine. A failure does not keep the others from running. */
function runSuites(names: string[]): number {
  const results = names.map((name) => {
    const { args = [], env } = suites[name] ?? {}
    const startedAt = performance.now()
    const { status } = spawnSync(process.execPath, args, {
      cwd: root,
      env: { ...process.env, ...env },
      stdio: 'inherit',
    })
    return { name, status: status ?? 1, seconds: (performance.now() - startedAt) / 1000 }
  })
  for (const { name, status, seconds } of results)
    console.log(`${name.padEnd(13)} ${status === 0 ? 'green' : 'red  '} ${seconds.toFixed(1).padStart(8)} s`)
  return results.some(({ status }) => status !== 0) ? 1 : 0
}
