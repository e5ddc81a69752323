// `npm test`: everything a fresh checkout can prove, in lanes side by side, since suites mostly wait for jobs. A lane whose
// suites need a stack has one of its own, and runs them one after another; each suite makes its own account.
import { spawn, type ChildProcess } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { root, toolPath } from '../tools/paths.mjs'

const usage = `npm test [-- [--only TEXT] [--no-python]] [FILE ...]
  FILE        test files; default: all of test/
  --only TEXT files whose path contains TEXT
  --no-python leave out the suite of runtime/`

const { values, positionals } = parseArgs({
  options: { only: { type: 'string' }, 'no-python': { type: 'boolean' }, help: { type: 'boolean' } },
  allowPositionals: true,
})
if (values.help) {
  console.log(usage)
  process.exit(0)
}

type Lane = { name: string; needsStack: boolean; files: string[]; python: boolean }

/** The cluster's suites need root and a cluster: `npm run test:cluster`. */
const own = () => globSync('test/**/*.test.ts', { cwd: root, exclude: ['test/cluster/**'] }).toSorted()
const files = (positionals.length > 0 ? positionals : own()).filter(
  (file) => values.only === undefined || file.includes(values.only),
)
const isWhole = positionals.length === 0 && values.only === undefined
const laneOf = (file: string) =>
  file.includes('test/e2e/') ? 'jobs' : /test\/(integration|clients)\//.test(file) ? 'contract' : 'rest'
const lanes = ['jobs', 'contract', 'rest']
  .map((name): Lane => {
    const python = name === 'contract' && isWhole && !values['no-python']
    return { name, needsStack: name !== 'rest', files: files.filter((file) => laneOf(file) === name), python }
  })
  .filter((lane) => lane.files.length > 0)

// Hundreds of Node processes start; what one has compiled the next does not: half of the start's processor time.
process.env['NODE_COMPILE_CACHE'] ??= join(root, '.cache/node-compile')

const running = new Set<ChildProcess>()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    for (const child of running) child.kill(signal)
  })

const codes = await Promise.all(lanes.map(runLane))
process.exitCode = codes.find((code) => code !== 0) ?? 0

/** A failure in one part does not hide what the others would say. */
async function runLane(lane: Lane): Promise<number> {
  const home = mkdtempSync(join(tmpdir(), 'anneal-test-'))
  const environment = { ...process.env, ANNEAL_TEST_HOME: home, ANNEAL_PYTHON: toolPath('python') }
  const reporters = ['spec', './test/support/slowest-files.ts'].flatMap((reporter) => [
    `--test-reporter=${reporter}`,
    '--test-reporter-destination=stdout',
  ])
  const parts = [
    ...(lane.python ? [['tools/python.mjs', 'test']] : []),
    ['--test', '--test-concurrency=1', '--test-timeout=600000', ...reporters, ...lane.files],
  ]
  let failed = 0
  try {
    if (lane.needsStack) await startStack(lane, home)
    for (const part of parts) if (!interrupted) failed = (await runNode(lane, part, environment)) || failed
    return failed
  } finally {
    if (lane.needsStack) await runNode(lane, ['src/cli.ts', 'stop', '--home', home], environment)
    rmSync(home, { recursive: true, force: true })
  }
}

/** One slot, so that a second job waits; room for two tuned models; limits on attempts that a test can reach. */
function startStack(lane: Lane, home: string): Promise<void> {
  // Suites send hundreds of wrong keys a minute from one address.
  const environment = {
    ...process.env,
    ANNEAL_SLOTS: '1',
    ANNEAL_CATALOGUE: writeCatalogue(home),
    ANNEAL_STALL_MINUTES: '1',
    ANNEAL_MAX_JOB_HOURS: '24',
    ANNEAL_FAILED_AUTHENTICATIONS_PER_MINUTE: '100000',
    // Receivers of webhooks are servers of the tests.
    ANNEAL_WEBHOOKS_ALLOW_HTTP: '1',
    ANNEAL_WEBHOOKS_PRIVATE_NETWORKS: '127.0.0.0/8',
  }
  return new Promise((resolve, reject) => {
    const stack = start(lane, ['src/cli.ts', 'start', '--home', home, '--port', '0'], environment, (line) => {
      if (line.includes('Ready in')) resolve()
    })
    stack.once('exit', (code) => reject(new Error(`the embedded stack ended with ${code}`)))
  })
}

function writeCatalogue(home: string): string {
  const { models } = JSON.parse(readFileSync(join(root, 'models.json'), 'utf8')) as { models: object[] }
  const path = join(home, 'models.json')
  writeFileSync(path, JSON.stringify({ models: models.map((model) => ({ ...model, maxAdapters: 2 })) }))
  return path
}

function runNode(lane: Lane, args: string[], environment: NodeJS.ProcessEnv): Promise<number> {
  return new Promise((resolve, reject) => {
    const child = start(lane, args, environment)
    running.add(child)
    child.once('error', reject)
    child.once('close', (code, signal) => {
      running.delete(child)
      resolve(code ?? (signal === null ? 1 : 128))
    })
  })
}

/** Its lines are ours, with the lane's name where there are several. */
function start({ name }: Lane, args: string[], env: NodeJS.ProcessEnv, onLine: (line: string) => void = () => {}) {
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: ['ignore', 'pipe', 'pipe'] })
  const lineStart = lanes.length > 1 ? `${name.padEnd(8)} │ ` : ''
  for (const input of [child.stdout, child.stderr])
    createInterface({ input }).on('line', (line) => {
      console.log(lineStart + line)
      onLine(line)
    })
  return child
}
