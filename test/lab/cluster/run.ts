// `npm run test:cluster`: builds the cluster's programs, starts a cluster of its own, runs the suites, ends it.
import { spawn } from 'node:child_process'
import { cpSync, globSync, readFileSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../../tools/paths.mjs'
import { killCommands } from '../../../tools/setup/command.mjs'
import { releaseLocks } from '../../../tools/setup/cache.mjs'
import { buildCluster, buildKueue } from './build.mjs'
import { deploy } from './deploy.ts'
import type { Image } from './images.ts'
import { down, up } from './lifecycle.ts'
import { createControl } from './orders.ts'
import { findOwn } from './own-cluster.ts'
import { requirePackages } from './packages.ts'
import { productImages } from './product-images.ts'
import { startServers, type Servers } from './servers.ts'
import type { Cluster } from './settings.ts'
import { nodeTestArguments } from '../../support/node-test-arguments.ts'

const usage = `npm run test:cluster [-- [--smoke | --list] [--only TEXT] [--hold | --run PROGRAM] [FILE ...]]
  FILE          test files; default: all of test/lab/cluster but smoke
  --smoke       deploy, main job, a lost pod, cancel, resume, nothing left: about six minutes once everything is built
  --list        what each suite is for
  --only TEXT   files whose path contains TEXT
  --hold        instead of running tests: wait, so that single files can be run again and again
  --run PROGRAM instead of running tests: this, which finds cluster and product as a test does`

const mainJob = 'test/lab/cluster/product/main-job.test.ts'
const nothingLeft = 'test/lab/cluster/product/last/nothing-left.test.ts'

/* oxlint-disable no-console -- a command line */
const { values, positionals } = parseArgs({
  options: {
    smoke: { type: 'boolean', default: false },
    list: { type: 'boolean' },
    only: { type: 'string' },
    hold: { type: 'boolean' },
    run: { type: 'string' },
    help: { type: 'boolean' },
  },
  allowPositionals: true,
})
const all = globSync('test/lab/cluster/**/*.test.ts', { cwd: root }).toSorted()
const files = chosenFiles().filter((file) => file.includes(values.only ?? ''))
/** The suites in other folders test the cluster itself. */
const needsProduct =
  values.hold || values.run !== undefined || files.some((file) => file.includes('test/lab/cluster/product/'))
const keptLogs = join(root, '.cache/cluster-logs')
const say = (text: string) => console.log(`[cluster] ${text}`)
const times: { name: string; seconds: number }[] = []
const home = join(root, '.cache/cluster-home')
let servers: Servers | null = null
let interruption: Promise<void> | null = null

if (values.help) console.log(usage)
else if (values.list) for (const file of files) console.log(`${file}\n  ${purposeOf(file)}`)
else process.exitCode = await main()

async function main() {
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    // Not `once`: npm repeats the signal that the terminal has sent, and the repeat would end this process before its clean-up.
    process.on(signal, () => void (interruption ??= interrupted(code)))
  let failed = 1
  try {
    await step('packages', () => requirePackages(say))
    // A run that was killed has left this behind.
    await endCluster()
    const [images, { cluster, bin }] = await together(
      needsProduct ? step('images', () => productImages(say)) : Promise.resolve([]),
      startCluster(),
    )
    if (needsProduct) await deployProduct(cluster, bin, images)
    failed = await step(values.run ?? 'tests', work)
  } finally {
    if (failed) keepLogs()
    await end()
    console.log(times.map(({ name, seconds }) => `${name.padEnd(10)} ${seconds.toFixed(1).padStart(7)} s`).join('\n'))
  }
  return failed
}

async function deployProduct(running: Cluster, bin: string, images: Image[]) {
  const { importImage } = createControl(running)
  const [, started] = await together(
    step('import', () => Promise.all(images.map(({ archive }) => importImage(archive)))),
    step('servers', async () => (servers = await startServers(home, running, say))),
  )
  await step('deploy', () => deploy(running, bin, started))
}

async function startCluster() {
  const withKueue = !values.smoke
  await step('build', async () => [await buildCluster(), withKueue && (await buildKueue())])
  return step('up', () => up(say, { withKueue }))
}

/** Waits for both even if one fails: the processes that each has started must be known before all are ended. */
async function together<A, B>(first: Promise<A>, second: Promise<B>): Promise<[A, B]> {
  await Promise.allSettled([first, second])
  return Promise.all([first, second])
}

function chosenFiles(): string[] {
  if (positionals.length > 0) return positionals
  const isSmoke = (file: string) => file.includes('/smoke/')
  return values.smoke ? [mainJob, ...all.filter(isSmoke), nothingLeft] : all.filter((file) => !isSmoke(file))
}

/** The comment at the head of a file. */
function purposeOf(file: string): string {
  const lines = readFileSync(join(root, file), 'utf8').split('\n')
  return lines
    .slice(
      0,
      lines.findIndex((line) => !line.startsWith('//')),
    )
    .map((line) => line.slice(3))
    .join('\n  ')
}

function work(): Promise<number> {
  if (values.hold) return hold()
  return values.run === undefined ? runTests(files) : runNode([values.run])
}

function hold() {
  say(`ANNEAL_TEST_HOME=${home} node_modules/.bin/node --test test/lab/cluster/FILE; Ctrl-C ends it all`)
  return new Promise<number>(() => {})
}

async function end() {
  const stopping = servers
  servers = null
  await step('down', () => Promise.all([stopping?.stop(), endCluster()]))
  rmSync(home, { recursive: true, force: true })
}

async function endCluster() {
  const found = findOwn()
  if (found) await down(found)
}

async function interrupted(code: number) {
  killCommands()
  releaseLocks()
  await end()
  process.exit(code)
}

/** First the suites that break only their own objects, then those that break shared parts, then the check of leftovers. */
async function runTests(chosen: string[]): Promise<number> {
  const folder = (file: string) => /\/(serial|last)\//.exec(file)?.[1] ?? ''
  let failed = 0
  for (const name of ['', 'serial', 'last']) {
    const files = chosen.filter((file) => folder(file) === name)
    if (files.length > 0) failed = (await runFiles(files)) || failed
  }
  return failed
}

function runFiles(chosen: string[]): Promise<number> {
  const reporters = ['spec', './test/support/slowest-files.ts']
  return runNode(nodeTestArguments({ concurrency: 1, reporters, files: chosen }))
}

function runNode(args: string[]): Promise<number> {
  const env = { ...process.env, ANNEAL_TEST_HOME: home }
  const child = spawn(process.execPath, args, { cwd: root, env, stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

function keepLogs() {
  const found = findOwn()
  if (!found) return
  rmSync(keptLogs, { recursive: true, force: true })
  cpSync(found.cluster.logs, keptLogs, { recursive: true })
  say(`its daemons' logs: ${keptLogs}`)
}

async function step<T>(name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  try {
    return await work()
  } finally {
    times.push({ name, seconds: (performance.now() - startedAt) / 1000 })
  }
}
