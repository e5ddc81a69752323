// Starts and ends a cluster from outside: its supervisor goes on when the command that started it has ended.
import { spawn } from 'node:child_process'
import { existsSync, mkdirSync, openSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { dirname } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { fileURLToPath } from 'node:url'
import { lockOwner } from '../../tools/pid-lock.mjs'
import { nodeBinary } from '../../tools/paths.mjs'
import { buildCluster } from './build.mjs'
import { basicImages } from './base-images.ts'
import { removeRemains, whenEnded } from './leftovers.ts'
import { order } from './orders.ts'
import { requirePackages } from './packages.ts'
import { clusterOf, mostClusters, ownCluster, recordPath, type Cluster } from './settings.ts'

export type Started = { cluster: Cluster; bin: string }
type State = { steps: { name: string; atMs: number }[]; isReady: boolean; failure: string | null }

const startTimeoutMs = 180_000

/** @param own false: beside the clone's own cluster, which commands and suites go on to use */
export async function up(say: (text: string) => void, { own = true } = {}): Promise<Started> {
  await requirePackages(say)
  const bin = await buildCluster()
  const images = (await basicImages(bin)).map(({ archive }) => archive)
  const cluster = await freeCluster()
  const startedAt = performance.now()
  const log = `${cluster.dir}.log`
  const supervisor = spawn(
    nodeBinary,
    [fileURLToPath(new URL('supervisor.ts', import.meta.url)), String(cluster.number), bin, ...images],
    {
      detached: true,
      stdio: ['ignore', openSync(log, 'w'), openSync(log, 'a')],
    },
  )
  supervisor.unref()
  if (own) record(cluster, bin)
  try {
    await watchStart(cluster, () => supervisor.exitCode ?? supervisor.signalCode, say)
  } catch (error) {
    throw new Error(`${(error as Error).message}\nLogs: ${cluster.logs} and ${log}`)
  }
  say(`ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return { cluster, bin }
}

export async function down(cluster: Cluster) {
  await killSupervisor(cluster)
  await removeRemains(cluster)
  for (const path of [cluster.lock, `${cluster.dir}.log`]) rmSync(path, { force: true })
  if (existsSync(recordPath) && ownCluster().number === cluster.number) rmSync(recordPath)
}

/** Every process, mount and link of the cluster goes with it. */
export async function killSupervisor(cluster: Cluster) {
  const owner = lockOwner(cluster.lock)
  if (owner) process.kill(owner.pid, 'SIGKILL')
  while (lockOwner(cluster.lock)) await sleep(20)
  await whenEnded(cluster)
}

function record({ number }: Cluster, bin: string) {
  mkdirSync(dirname(recordPath), { recursive: true })
  writeFileSync(recordPath, JSON.stringify({ number, bin }))
}

async function watchStart(cluster: Cluster, ended: () => unknown, say: (text: string) => void) {
  let said = 0
  for (const deadline = Date.now() + startTimeoutMs; Date.now() < deadline; await sleep(100)) {
    if (ended() !== null)
      throw new Error(`The cluster's supervisor ended: ${readFileSync(`${cluster.dir}.log`, 'utf8').trim()}`)
    if (!existsSync(cluster.controlSocket)) continue
    const state = await order<State>(cluster, 'GET /state').catch(() => null)
    if (!state) continue
    for (const { name, atMs } of state.steps.slice(said)) say(`${(atMs / 1000).toFixed(1).padStart(5)} s ${name}`)
    said = state.steps.length
    if (state.failure) throw new Error(`The cluster did not start: ${state.failure}`)
    if (state.isReady) return
  }
  throw new Error(`The cluster did not start within ${startTimeoutMs / 1000} s.`)
}

/** The first number that no live cluster has. Two starts at once may choose the same: the lock then ends one. */
async function freeCluster(): Promise<Cluster> {
  for (let number = 0; number < mostClusters; number++) {
    const cluster = clusterOf(number)
    if (!lockOwner(cluster.lock)) return cluster
  }
  throw new Error(`${mostClusters} clusters run on this machine already.`)
}
