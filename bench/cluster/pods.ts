// Watches a namespace's pods and notes when each reached a stage, by this process's clock.
import { api, type Pod } from '../../test/lab/cluster/support/cluster.ts'

/** `unplaced`: no node can take it. `ended`: all its containers have ended. `gone`: the object is deleted. */
type Moment = 'exists' | 'unplaced' | 'runs' | 'ended' | 'gone'

export type Pods = ReturnType<typeof watchPods>

type Seen = { moments: Partial<Record<Moment, number>>; message: string }

export function watchPods(namespace: string) {
  const seen = new Map<string, Seen>()
  let changed = Promise.withResolvers<void>()

  api.watch<Pod>(`/api/v1/namespaces/${namespace}/pods`, ({ type, object }) => {
    if (type === 'ERROR') return
    const now = performance.now()
    const entry = seen.get(runOf(object)) ?? { moments: {}, message: '' }
    seen.set(runOf(object), entry)
    for (const moment of momentsOf(type, object)) entry.moments[moment] ??= now
    entry.message = unplaced(object)?.message ?? ''
    changed.resolve()
    changed = Promise.withResolvers()
  })

  async function until(look: () => number | undefined): Promise<number> {
    for (;;) {
      const at = look()
      if (at !== undefined) return at
      await changed.promise
    }
  }

  return {
    /** @param run the Job's name, or the name of a pod without a Job */
    at: (run: string, moment: Moment) => until(() => seen.get(run)?.moments[moment]),
    /** When the watch reported the pod as unschedulable with this message. */
    says: (run: string, words: string) =>
      until(() => (seen.get(run)?.message.includes(words) ? performance.now() : undefined)),
    count: (moment: Moment) => [...seen.values()].filter(({ moments }) => moments[moment] !== undefined).length,
  }
}

const runOf = ({ metadata: { name, labels } }: Pod) => labels?.['job-name'] ?? name

const unplaced = ({ status }: Pod) =>
  status.conditions?.find(({ type, status: holds }) => type === 'PodScheduled' && holds === 'False')

function momentsOf(type: string, pod: Pod): Moment[] {
  const { phase, containerStatuses = [] } = pod.status
  const ended = phase === 'Succeeded' || phase === 'Failed'
  return [
    'exists',
    ...(unplaced(pod) ? (['unplaced'] as const) : []),
    ...(containerStatuses.some(({ state }) => state['running']) ? (['runs'] as const) : []),
    ...(ended ? (['ended'] as const) : []),
    ...(type === 'DELETED' ? (['gone'] as const) : []),
  ]
}
