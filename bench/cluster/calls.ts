// Counts the worker's calls to the API server in the fault proxy, which only the worker uses.
import { control } from '../../test/lab/cluster/support/cluster.ts'
import type { Measured } from './table.ts'

type Count = [call: string, times: number]

/** Counts from now on. Leaves out lists and watches of whole collections, which do not depend on the number of jobs. */
export async function followCalls() {
  await control.forgetCalls()
  const startedAt = performance.now()
  const isShared = ([call]: Count) => /^(list|watch) \w+$/.test(call)
  const sum = (counts: Count[]) => counts.reduce((total, [, times]) => total + times, 0)
  const say = (what: string, counts: Count[], divisor: number) => {
    const sorted = counts.toSorted(([, a], [, b]) => b - a)
    console.log(`${what}: ${sorted.map(([call, times]) => `${call} ${(times / divisor).toFixed(1)}`).join(', ')}`)
  }
  return {
    async perJob(jobs: number): Promise<Measured[]> {
      const counts = Object.entries(await control.calls())
      const minutes = (performance.now() - startedAt) / 60_000
      const shared = counts.filter(isShared)
      const ofJobs = counts.filter((count) => !isShared(count))
      say('calls of one job', ofJobs, jobs)
      say('calls a minute for all', shared, minutes)
      return [
        { measure: 'API calls of one job', seen: (sum(ofJobs) / jobs).toFixed(1), target: '≤ 15' },
        { measure: 'API calls for all jobs', seen: `${(sum(shared) / minutes).toFixed(1)} a minute`, target: '' },
      ]
    },
  }
}
