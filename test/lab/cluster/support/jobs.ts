// Training jobs on the cluster, seen from outside the product: their pods, their processes on the nodes, and what must
// hold of every job whatever is done to it.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { TestContext } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { sampleRows } from '../../../support/rows.ts'
import { signalProcess } from '../../../support/signal-process.ts'
import { openAccount, type Api } from '../../../support/stack.ts'
import { ApiError } from '../api.ts'
import { api, until, type Pod } from './cluster.ts'

const runsNamespace = '/api/v1/namespaces/anneal-runs'
const jobLabel = 'anneal.dev/job'

/** The suites do not test the training itself: these jobs have many short steps, so that some are always still to come. */
const smallSteps = { seed: 7, batch_size: 2, gradient_accumulation_steps: 1 }

type Attempt = { attempt: number; cause: string | null; exit_code: number | null; from_step: number; message: string }
type JobPod = Pod & { metadata: { labels?: Record<string, string> } }

/** Submits jobs for an account (a new one if none is given), and observes all of their pods until `end`. */
export async function openJobs({ podsOfJob = 1, of }: { podsOfJob?: number; of?: Api } = {}) {
  const account = of ?? (await openAccount())
  const jobs = new Set<number>()
  const doubles: string[] = []
  const over = new AbortController()
  const looking = look()

  async function look() {
    for (; !over.signal.aborted; await sleep(100)) {
      // The API server may be away on purpose.
      const pods = await api.list<JobPod>(`${runsNamespace}/pods?labelSelector=${jobLabel}`).catch(() => [])
      for (const job of jobs) {
        const living = pods.filter(({ metadata, status }) => {
          return metadata.labels?.[jobLabel] === String(job) && ['Pending', 'Running'].includes(status.phase)
        })
        if (living.length > podsOfJob) doubles.push(living.map(({ metadata }) => metadata.name).join(' beside '))
      }
    }
  }

  function reaches(id: number, step: number) {
    return account.until(id, ({ history }) => history.includes(`"step":${step}`))
  }

  function completes(id: number) {
    return account.until(id, ({ status }) => status === 'COMPLETED', { everyMs: 200 })
  }

  /** Calls the given function with the job's pod at that step, and waits until the next attempt trains. */
  async function inject(t: TestContext, id: number, step: number, fault: (pod: Pod) => Promise<unknown>) {
    await reaches(id, step)
    const before = (await attemptsOf(account, id)).length
    const trained = await timesTrained(account, id)
    const pod = await runningPod(id)
    const atMs = performance.now()
    await fault(pod)
    const seconds = () => ((performance.now() - atMs) / 1000).toFixed(1)
    await account.until(id, ({ resume_count }) => resume_count >= before)
    const requeued = seconds()
    // A short state may have passed before the first look.
    await until(`job ${id} trains again`, async () => (await timesTrained(account, id)) > trained)
    const ended = (await attemptsOf(account, id))[before - 1] ?? assert.fail('the attempt is not listed')
    t.diagnostic(`${ended.cause}: requeued after ${requeued} s, trains again after ${seconds()} s (${ended.message})`)
    return { ...ended, node: pod.spec.nodeName ?? '' }
  }

  /** Checks that the attempts ended with these causes, that the last one finished, and that each began at a checkpoint. */
  async function completesAfter(id: number, causes: string[]) {
    const done = await completes(id)
    assert.equal(done.resume_count, causes.length)
    const attempts = await attemptsOf(account, id)
    assert.deepEqual(
      attempts.map(({ cause }) => cause),
      [...causes, 'finished'],
    )
    assert(attempts.slice(1).every(({ from_step }) => from_step >= 10))
  }

  return {
    account,
    async train(args: Record<string, unknown>, body: Record<string, unknown> = {}) {
      const finetune_args = { ...smallSteps, ...args }
      const id = await account.train({ data: sampleRows, eval_data: sampleRows.slice(0, 1), finetune_args, ...body })
      jobs.add(id)
      return id
    },
    inject,
    completesAfter,
    completes,
    /** Steps trained so far. */
    reaches,
    /** The attempts, oldest first. */
    attempts: (id: number) => attemptsOf(account, id),
    losses: async (id: number) => (await account.history(id)).map(({ step, loss }) => [step, loss]),
    /** Checks that no job had more pods at once than allowed, and that no object of a job is left. */
    async end() {
      over.abort()
      await looking
      // Only jobs of a failed test are still open.
      await account.post('/v1/train/jobs/cancel')
      // The cluster's own collector of owned objects comes a moment later to a Secret that it had not seen before.
      for (const id of jobs) await until(`nothing is left of job ${id}`, async () => !(await leftOf(id)).length)
      assert.deepEqual(doubles, [])
    },
  }
}

async function attemptsOf(account: Api, id: number) {
  return (await account.get<{ attempts: Attempt[] }>(`/v1/train/jobs/${id}/attempts`)).attempts.toReversed()
}

async function timesTrained(account: Api, id: number) {
  type Event = { kind: string; status: string | null }
  const { events } = await account.get<{ events: Event[] }>(`/v1/train/jobs/${id}/events?limit=1000`)
  return events.filter(({ kind, status }) => kind === 'status' && status === 'TRAINING MODEL').length
}

/** Everything in the cluster that belongs to a job. */
export async function leftOf(id: number) {
  const batch = runsNamespace.replace('/api/v1', '/apis/batch/v1')
  const paths = [`${batch}/jobs`, ...['pods', 'secrets', 'services'].map((kind) => `${runsNamespace}/${kind}`)]
  const objects = await Promise.all(paths.map((path) => api.list(`${path}?labelSelector=${jobLabel}=${id}`)))
  return objects.flat().map(({ kind, metadata }) => `${kind ?? ''} ${metadata.name}`.trim())
}

export const podsOf = (id: number) => api.list<Pod>(`${runsNamespace}/pods?labelSelector=${jobLabel}=${id}`)

export const runningPod = (id: number) =>
  until(`a running pod of job ${id}`, async () => (await podsOf(id)).find(({ status }) => status.phase === 'Running'))

/** The process ids of a pod on this machine, without the pause of its sandbox. */
export const programsOf = ({ metadata: { uid = '' } }: Pod) =>
  readdirSync('/proc').filter((pid) => /^\d+$/.test(pid) && isProgramOf(pid, uid))

/** Kills the programs of a pod, as the kernel would. The sandbox of the pod stays. */
export function killProcesses(pod: Pod) {
  const pids = programsOf(pod)
  assert.notEqual(pids.length, 0, 'the pod has no processes')
  // The first process is often the init of the others, which end with it.
  for (const pid of pids) signalProcess(Number(pid), 'SIGKILL')
}

function isProgramOf(pid: string, podUid: string) {
  const read = (file: string) => readFileSync(join('/proc', pid, file), 'utf8')
  try {
    // The kubelet names a pod's control group after it.
    return read('cgroup').includes(`pod${podUid}`) && read('comm').trim() !== 'pause'
  } catch {
    return false
  }
}

export const deletePod = ({ metadata: { name, namespace } }: Pod, options: Record<string, unknown> = {}) =>
  api.delete(`/api/v1/namespaces/${namespace}/pods/${name}`, options)

export function evict({ metadata: { name, namespace } }: Pod) {
  const body = { apiVersion: 'policy/v1', kind: 'Eviction', metadata: { name, namespace } }
  return api.post(`/api/v1/namespaces/${namespace}/pods/${name}/eviction`, body)
}

export const cordon = (node: string, unschedulable: boolean) =>
  api.patch(`/api/v1/nodes/${node}`, { spec: { unschedulable } })

/** Drains a node as `kubectl drain` does: no new pods, and the present ones are evicted as soon as their budgets allow it. */
export async function drain(node: string) {
  await cordon(node, true)
  const pods = await api.list<Pod>(`/api/v1/pods?fieldSelector=spec.nodeName=${node}`)
  for (const pod of pods.filter(({ status }) => status.phase === 'Running'))
    await until(`${pod.metadata.name} may be evicted`, () => evict(pod).then(() => true, isGone))
}

/** False while a budget forbids the eviction. */
function isGone(error: unknown): boolean {
  if (error instanceof ApiError && (error.status === 404 || error.status === 429)) return error.status === 404
  throw error
}
