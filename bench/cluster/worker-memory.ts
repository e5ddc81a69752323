import { readFileSync } from 'node:fs'
import { programsOf } from '../../test/lab/cluster/support/jobs.ts'
import { servicePods } from '../../test/lab/cluster/support/services.ts'

const everyMs = 500

/** Peak resident memory of the only worker during the work, from its node's kernel. */
export async function withWorkerMemory<T>(work: () => Promise<T>): Promise<{ result: T; megabytes: number }> {
  const [pod] = await servicePods('anneal-worker')
  if (!pod) throw new Error('there is no worker')
  const pids = programsOf(pod)
  let megabytes = 0
  const look = () => (megabytes = Math.max(megabytes, ...pids.map(residentMegabytes)))
  const looking = setInterval(look, everyMs)
  const result = await work().finally(() => clearInterval(looking))
  look()
  return { result, megabytes }
}

const residentMegabytes = (pid: string) =>
  Number(/VmRSS:\s+(\d+)/.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]) / 1024
