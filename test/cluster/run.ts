// `npm run test:cluster`: builds the cluster's programs, starts a cluster of its own, runs the suites, ends it.
import { spawn } from 'node:child_process'
import { cpSync, globSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { parseArgs } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { killCommands } from '../../tools/setup/command.mjs'
import { releaseLocks } from '../../tools/setup/cache.mjs'
import { buildCluster } from './build.mjs'
import { down, up } from './lifecycle.ts'
import { requirePackages } from './packages.ts'
import type { Cluster } from './settings.ts'

const usage = `npm run test:cluster [-- [--only TEXT] [--keep] [FILE ...]]
  FILE        test files; default: all of test/cluster
  --only TEXT files whose path contains TEXT
  --keep      leave the cluster running; end it with: npm run cluster -- down`

/* oxlint-disable no-console -- a command line */
const { values, positionals } = parseArgs({
  options: { only: { type: 'string' }, keep: { type: 'boolean' }, help: { type: 'boolean' } },
  allowPositionals: true,
})
const keptLogs = join(root, '.cache/cluster-logs')
const say = (text: string) => console.log(`[cluster] ${text}`)
const times: { name: string; seconds: number }[] = []
let cluster: Cluster | null = null

if (values.help) console.log(usage)
else process.exitCode = await main()

async function main() {
  for (const [signal, code] of Object.entries({ SIGINT: 130, SIGTERM: 143, SIGHUP: 129 }))
    process.once(signal, () => void interrupted(code))
  let failed = 1
  try {
    await step('packages', () => requirePackages(say))
    await step('build', buildCluster)
    cluster = (await step('up', () => up(say))).cluster
    failed = await step('tests', () => runTests(files()))
  } finally {
    if (cluster && failed) keepLogs(cluster)
    await end()
    console.log(times.map(({ name, seconds }) => `${name.padEnd(10)} ${seconds.toFixed(1).padStart(7)} s`).join('\n'))
  }
  return failed
}

async function end() {
  const ending = cluster
  cluster = null
  if (ending && !values.keep) await step('down', () => down(ending))
}

async function interrupted(code: number) {
  killCommands()
  releaseLocks()
  await end()
  process.exit(code)
}

function files() {
  const all = globSync('test/cluster/**/*.test.ts', { cwd: root }).toSorted()
  return (positionals.length > 0 ? positionals : all).filter((file) => file.includes(values.only ?? ''))
}

/** One file at a time: they break the same nodes. */
function runTests(chosen: string[]): Promise<number> {
  const args = ['--test', '--test-concurrency=1', '--test-timeout=900000', ...chosen]
  const child = spawn(process.execPath, args, { cwd: root, stdio: 'inherit' })
  return new Promise((resolve, reject) => {
    child.once('error', reject)
    child.once('exit', (code) => resolve(code ?? 1))
  })
}

function keepLogs({ logs }: Cluster) {
  rmSync(keptLogs, { recursive: true, force: true })
  cpSync(logs, keptLogs, { recursive: true })
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
