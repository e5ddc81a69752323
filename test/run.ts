// `npm test`: unit, then db, then the lanes that need servers or Python side by side. The first red lane of the cheap ones
// ends the run; the dear ones all say what they have to say. Each suite makes its own account.
import type { ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join, resolve } from 'node:path'
import { createInterface } from 'node:readline'
import { parseArgs } from 'node:util'
import { compileCacheDir, invocationDir, toolPath } from '../tools/paths.mjs'
import { laneNames, laneOf, type Lane, type LaneName } from './lanes.ts'
import { nodeTestArguments } from './support/node-test-arguments.ts'
import { spawnNode, stackEnvironment, startArguments, startPostgres, stopArguments } from './support/services.ts'

const usage = `npm test [-- [--lane LANE,...] [--only TEXT] [--attach FILE] [--watch] [FILE ...]]
  FILE          test files; default: all of test/ but the deep and the cluster's
  --lane LANE   ${laneNames.join(', ')}; default: all but deep
  --only TEXT   files whose path contains TEXT
  --attach FILE the connection.json of a running stack (npm run dev), which is used instead of new ones
  --watch       unit lane only: run again what a saved file affects, until Ctrl-C

npm run test:unit and npm run test:db run one lane; npm run test:deep -- --list shows what else there is.`

const { values, positionals } = parseArgs({
  options: {
    lane: { type: 'string' },
    only: { type: 'string' },
    attach: { type: 'string' },
    watch: { type: 'boolean' },
    help: { type: 'boolean' },
  },
  allowPositionals: true,
})

process.env['NODE_COMPILE_CACHE'] ??= compileCacheDir

const running = new Set<ChildProcess>()
let interrupted = false
for (const signal of ['SIGINT', 'SIGTERM'] as const)
  process.once(signal, () => {
    interrupted = true
    for (const child of running) child.kill(signal)
  })

const attachedHome = values.attach === undefined ? null : dirname(resolve(invocationDir, values.attach))
const times: string[] = []
const failures: string[] = []
const totals = { passed: 0, failed: 0, skipped: 0 }

if (values.help) console.log(usage)
else process.exitCode = values.watch ? await watch() : await main()

async function main(): Promise<number> {
  const lanes = chosenLanes()
  if (lanes.length === 0) {
    console.error('No test file is chosen. npm test -- --help says how to choose.')
    return 2
  }
  const [cheap, dear] = [lanes.filter(isCheap), lanes.filter((lane) => !isCheap(lane))]
  let failed = 0
  for (const lane of cheap) if (!failed && !interrupted) failed = await runLane(lane)
  if (!failed && !interrupted) failed = await runDear(dear)
  // Last, because who reads a long log of CI may have only its end.
  for (const line of [...failures, ...times]) console.log(line)
  console.log(`tests: ${totals.passed} passed, ${totals.failed} failed, ${totals.skipped} skipped`)
  return failed || (interrupted ? 130 : 0)
}

function isCheap({ name }: Lane): boolean {
  return name === 'unit' || name === 'db'
}

/** Lanes that share one stack take turns. */
async function runDear(lanes: Lane[]): Promise<number> {
  if (attachedHome === null) return firstFailure(await Promise.all(lanes.map(runLane)))
  const codes: number[] = []
  for (const lane of lanes) codes.push(await runLane(lane))
  return firstFailure(codes)
}

function firstFailure(codes: number[]): number {
  return codes.find((code) => code !== 0) ?? 0
}

function chosenLanes(): Lane[] {
  const chosen = positionals.length > 0 ? positionals : null
  // A file that is named runs, whichever lane it belongs to.
  const names = values.lane?.split(',') ?? laneNames.filter((name) => name !== 'deep' || chosen !== null)
  return names
    .map((name) => {
      if (!laneNames.includes(name as LaneName)) throw new Error(`There is no lane "${name}". ${usage}`)
      const lane = laneOf(name as LaneName, chosen)
      if (values.only === undefined) return lane
      return { ...lane, commands: [], files: lane.files.filter((file) => file.includes(values.only ?? '')) }
    })
    .filter(({ files, commands }) => files.length + commands.length > 0)
}

/** A failure in one part does not hide what the others would say. */
async function runLane(lane: Lane): Promise<number> {
  const startedAt = performance.now()
  const home = attachedHome ?? mkdtempSync(join(tmpdir(), 'anneal-test-'))
  let stop = () => Promise.resolve()
  let failed = 0
  try {
    stop = await startServices(lane, home)
    const environment = {
      ...process.env,
      ANNEAL_TEST_HOME: home,
      ...(lane.name === 'unit' ? {} : { ANNEAL_PYTHON: toolPath('python') }),
    }
    const parts = interrupted ? [] : [...lane.commands, testArguments(lane)].filter((part) => part.length > 0)
    failed = firstFailure(await Promise.all(parts.map((part) => runNode(lane, part, environment))))
    return failed
  } finally {
    await stop()
    if (attachedHome === null) rmSync(home, { recursive: true, force: true })
    const seconds = (performance.now() - startedAt) / 1000
    times.push(`lane ${lane.name.padEnd(8)} ${failed ? 'red  ' : 'green'} ${seconds.toFixed(1).padStart(7)} s`)
  }
}

function testArguments({ files, concurrency }: Lane): string[] {
  if (files.length === 0) return []
  return nodeTestArguments({ concurrency, reporters: ['spec', './test/support/slowest-files.ts'], files })
}

/** @returns how to end them */
async function startServices(lane: Lane, home: string): Promise<() => Promise<void>> {
  if (attachedHome !== null || lane.needs === 'nothing' || lane.files.length === 0) return () => Promise.resolve()
  if (lane.needs === 'postgres') return startPostgres(home)
  const environment = stackEnvironment(home)
  await new Promise<void>((resolve, reject) => {
    const stack = start(lane, startArguments(home), environment, (line) => {
      if (line.includes('Ready in')) resolve()
    })
    stack.once('exit', (code) => reject(new Error(`the embedded stack ended with ${code}`)))
  })
  return async () => void (await runNode(lane, stopArguments(home), environment))
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

/** Prints the program's lines with the lane's name before them. */
function start({ name }: Lane, args: string[], env: NodeJS.ProcessEnv, onLine: (line: string) => void = () => {}) {
  const child = spawnNode(args, env)
  let describesFailure = false
  for (const input of [child.stdout, child.stderr])
    if (input)
      createInterface({ input }).on('line', (line) => {
        console.log(`${name.padEnd(8)} │ ${line}`)
        addToTotals(line)
        // The spec reporter describes failed tests between these two lines. Pytest names its own in lines of their own.
        if (line === '✖ failing tests:') describesFailure = true
        else if (line === 'slowest files') describesFailure = false
        if ((describesFailure && failures.length < 200) || /^(FAILED|ERROR) /.test(line)) failures.push(line)
        onLine(line)
      })
  return child
}

/** The closing lines of node --test (`ℹ pass 3`) and of pytest (`3 passed, 1 skipped in 2s`). */
function addToTotals(line: string) {
  const [, word, count] = /^ℹ (pass|fail|cancelled|skipped) (\d+)$/.exec(line) ?? []
  if (word === 'pass') totals.passed += Number(count)
  else if (word === 'skipped') totals.skipped += Number(count)
  else if (word !== undefined) totals.failed += Number(count)
  if (!/ in \d+\.\d+s\b/.test(line)) return
  for (const [, found, kind] of line.matchAll(/(\d+) (passed|failed|errors?|skipped)/g))
    totals[kind === 'passed' || kind === 'skipped' ? kind : 'failed'] += Number(found)
}

/** Node follows what each test file imports, and runs the files again that a saved file concerns. */
async function watch(): Promise<number> {
  const { files, concurrency } = laneOf('unit', positionals.length > 0 ? positionals : null)
  const args = [
    '--test',
    '--watch',
    `--test-concurrency=${concurrency}`,
    '--test-reporter=./test/support/watch-report.ts',
    ...files,
  ]
  return runNode({ ...laneOf('unit', []), name: 'watch' }, args, process.env)
}
