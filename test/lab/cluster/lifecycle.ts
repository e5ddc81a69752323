// Starts and ends a cluster. Its supervisor outlives the command that started it.
import { spawn, type ChildProcess } from 'node:child_process'
import { mkdirSync, openSync, readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { identify, isAlive, lockOwner, releaseLock, takeLock } from '../../../tools/pid-lock.mjs'
import { nodeBinary, root } from '../../../tools/paths.mjs'
import { buildCluster, buildKueue } from './build.mjs'
import { basicImages } from './base-images.ts'
import { removeRemains, whenEnded } from './leftovers.ts'
import { order } from './orders.ts'
import { findOwn, forgetOwn, record, type Started } from './own-cluster.ts'
import { requirePackages } from './packages.ts'
import { everyCluster, type Cluster } from './settings.ts'

type State = { steps: { name: string; atMs: number }[]; isReady: boolean; failure: string | null }

const startTimeoutMs = 180_000

/**
 * @param isOwn false starts a cluster beside the clone's own, which commands and suites still use
 * @param withKueue false saves minutes of building and seconds of the start
 */
export async function up(say: (text: string) => void, { isOwn = true, withKueue = true } = {}): Promise<Started> {
  if (isOwn && findOwn()) throw new Error('This clone has a cluster. End it first: npm run cluster -- down')
  await requirePackages(say)
  const bin = await buildCluster()
  const kueue = withKueue ? await buildKueue() : ''
  const images = (await basicImages(bin)).map(({ archive }) => archive)
  const startedAt = performance.now()
  const log = join(root, '.cache', isOwn ? 'cluster.log' : 'cluster-beside.log')
  mkdirSync(dirname(log), { recursive: true })
  const entry = fileURLToPath(new URL('supervisor.ts', import.meta.url))
  const output = openSync(log, 'w')
  const child = spawn(nodeBinary, [entry, bin, kueue, ...images], { detached: true, stdio: ['ignore', output, output] })
  child.unref()
  const abandon = () => child.kill('SIGKILL')
  process.once('exit', abandon)
  try {
    const cluster = await clusterChosenBy(child)
    const started = { cluster, bin, supervisor: identify(child.pid ?? 0) }
    if (isOwn) record(started)
    await watchStart(cluster, child, say)
    say(`ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
    return started
  } catch (error) {
    abandon()
    throw new Error(`${(error as Error).message}\nLog: ${log}\n${readFileSync(log, 'utf8').trim()}`)
  } finally {
    process.off('exit', abandon)
  }
}

export async function down(started: Started) {
  await killSupervisor(started)
  const { cluster } = started
  // A cluster that has taken this number since then has removed them already.
  if (takeLock(cluster.lock) === null) {
    await removeRemains(cluster)
    releaseLock(cluster.lock)
  }
  forgetOwn(started)
}

/** Every process, mount and link of the cluster ends with its supervisor. */
export async function killSupervisor({ cluster, supervisor }: Started) {
  if (isAlive(supervisor)) process.kill(supervisor.pid, 'SIGKILL')
  while (isAlive(supervisor)) await sleep(20)
  await whenEnded(cluster)
}

/** The supervisor takes the first number that no live cluster has. */
async function clusterChosenBy(supervisor: ChildProcess): Promise<Cluster> {
  for (; isRunning(supervisor); await sleep(50)) {
    const chosen = everyCluster().find(({ lock }) => lockOwner(lock)?.pid === supervisor.pid)
    if (chosen) return chosen
  }
  throw new Error("The cluster's supervisor ended.")
}

async function watchStart(cluster: Cluster, supervisor: ChildProcess, say: (text: string) => void) {
  let said = 0
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline; await sleep(100)) {
    if (!isRunning(supervisor)) throw new Error("The cluster's supervisor ended.")
    const state = await order<State>(cluster, 'GET /state').catch(() => null)
    if (!state) continue
    for (const { name, atMs } of state.steps.slice(said)) say(`${(atMs / 1000).toFixed(1).padStart(5)} s ${name}`)
    said = state.steps.length
    if (state.failure) throw new Error(`The cluster did not start (its logs: ${cluster.logs}): ${state.failure}`)
    if (state.isReady) return
  }
  throw new Error(`The cluster did not start within ${startTimeoutMs / 1000} s.`)
}

function isRunning({ exitCode, signalCode }: ChildProcess) {
  return exitCode === null && signalCode === null
}
