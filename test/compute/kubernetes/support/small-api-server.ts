// As much of an API server as our calls need, over HTTP, with faults on demand. No scheduler and no kubelet: tests say
// what becomes of pods. What a real server does with our calls is proved in test/lab/cluster.
import { randomUUID } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { IncomingMessage, ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { TestContext } from 'node:test'

type Meta = {
  name: string
  uid: string
  resourceVersion: string
  labels: Record<string, string>
  annotations?: Record<string, string>
  creationTimestamp: string
  deletionTimestamp?: string
  ownerReferences?: { uid: string; controller: boolean }[]
}
export type Stored = {
  metadata: Meta
  spec?: Record<string, unknown>
  stringData?: Record<string, string>
  status: Record<string, unknown>
}
const kinds = ['jobs', 'pods', 'secrets', 'services', 'events', 'deployments', 'poddisruptionbudgets'] as const
type Kind = (typeof kinds)[number]
type Fault = { status?: number; retryAfter?: string; /** The work is done, its answer lost. */ late?: boolean }
type Event = { version: number; kind: Kind; type: string; object: Stored }
type Body = Partial<Omit<Stored, 'metadata'>> & {
  metadata?: Partial<Meta>
  preconditions?: { uid?: string }
  gracePeriodSeconds?: number
}

export type SmallApiServer = Awaited<ReturnType<typeof startApiServer>>

export async function startApiServer(t: TestContext) {
  const objects: Record<Kind, Map<string, Stored>> = {
    jobs: new Map(),
    pods: new Map(),
    secrets: new Map(),
    services: new Map(),
    events: new Map(),
    deployments: new Map(),
    poddisruptionbudgets: new Map(),
  }
  const history: Event[] = []
  const watches = new Set<{ kind: Kind; response: ServerResponse }>()
  const calls: string[] = []
  const listeners = new Set<(kind: Kind, object: Stored) => void>()
  let followsLogs = false
  const logs = new Map<string, string>()
  let version = 1
  let compactedTo = 0
  let fault: (call: string) => Fault | undefined | Promise<undefined> = () => undefined
  const server = createServer((request, response) => void answer(request, response))

  function emit(kind: Kind, type: string, object: Stored): void {
    object.metadata.resourceVersion = String(++version)
    history.push({ version, kind, type, object: structuredClone(object) })
    for (const watch of watches) if (watch.kind === kind) watch.response.write(lineOf(type, object))
    for (const listener of listeners) setImmediate(listener, kind, object)
  }

  function put(
    kind: Kind,
    object: Partial<Omit<Stored, 'metadata'>> & { metadata: Partial<Meta> & { name: string } },
  ): Stored {
    const before = objects[kind].get(object.metadata.name)
    const fresh = { labels: {}, uid: randomUUID(), creationTimestamp: new Date().toISOString(), resourceVersion: '' }
    const metadata = { ...fresh, ...before?.metadata, ...object.metadata }
    const stored = { ...before, ...object, metadata, status: { ...before?.status, ...object.status } }
    objects[kind].set(metadata.name, stored)
    emit(kind, before ? 'MODIFIED' : 'ADDED', stored)
    return stored
  }

  function remove(kind: Kind, name: string): void {
    const object = objects[kind].get(name)
    if (!object) return
    objects[kind].delete(name)
    emit(kind, 'DELETED', object)
    // As the collector of garbage: a Job that waits for its pods goes with the last.
    for (const job of objects.jobs.values()) if (kind === 'pods' && isOver(job)) remove('jobs', job.metadata.name)
  }

  const isOver = (job: Stored) =>
    job.metadata.deletionTimestamp !== undefined &&
    ![...objects.pods.values()].some((pod) => pod.metadata.ownerReferences?.[0]?.uid === job.metadata.uid)

  async function answer(request: IncomingMessage, response: ServerResponse): Promise<void> {
    const url = new URL(request.url ?? '', 'http://server')
    const { method = 'GET' } = request
    const body = (method === 'GET' ? {} : await json(request)) as Body
    const call = `${method} ${url.pathname.replace(/^.*\/namespaces\/[^/]+\//, '')}${url.searchParams.has('watch') ? ' watch' : ''}`
    calls.push(call)
    const failing = await fault(call)
    if (failing && !failing.late) return refuse(response, failing.status ?? 500, 'a fault', failing.retryAfter)
    const handled = handle(method, url, body, response)
    if (failing?.late) return refuse(response, 500, 'the answer was lost')
    if (handled === null) return
    if (typeof handled === 'number') return refuse(response, handled, `answered ${handled}`)
    response.end(typeof handled === 'string' ? handled : JSON.stringify(handled))
  }

  /** @returns the answer, an error's status, or null where it is under way */
  function handle(method: string, url: URL, body: Body, response: ServerResponse): object | string | number | null {
    const [, kind, name, subresource] = /\/namespaces\/[^/]+\/(\w+)(?:\/([^/]+))?(?:\/(\w+))?/.exec(url.pathname) ?? []
    if (!isKind(kind)) return 404
    if (url.searchParams.has('watch')) return watch(kind, Number(url.searchParams.get('resourceVersion')), response)
    if (subresource === 'log') return readLog(name ?? '', url.searchParams.has('follow'), response)
    if (method === 'POST' && url.searchParams.has('dryRun')) return {}
    if (method === 'POST') return create(kind, body)
    if (!name) return list(kind, url.searchParams.get('labelSelector') ?? '')
    const object = objects[kind].get(name)
    if (!object) return 404
    if (method === 'PATCH') return put(kind, { ...body, metadata: { ...body.metadata, name } })
    return method === 'DELETE' ? destroy(kind, object, body) : object
  }

  function readLog(name: string, follow: boolean, response: ServerResponse): string | number | null {
    const log = logs.get(name)
    if (log === undefined || !follow || !followsLogs) return log ?? 404
    const isOver = () => !['Pending', 'Running'].some((phase) => phase === objects.pods.get(name)?.status['phase'])
    const listener = () => {
      if (!isOver()) return
      listeners.delete(listener)
      response.end(logs.get(name))
    }
    response.flushHeaders()
    listeners.add(listener)
    listener()
    return null
  }

  function create(kind: Kind, body: Body): Stored | number {
    const name = body.metadata?.name ?? ''
    return objects[kind].has(name) ? 409 : put(kind, { ...body, metadata: { ...body.metadata, name } })
  }

  function destroy(kind: Kind, object: Stored, { preconditions, gracePeriodSeconds = 0 }: Body): Stored | number {
    const { metadata } = object
    if (preconditions?.uid && preconditions.uid !== metadata.uid) return 409
    const deletionTimestamp = new Date(Date.now() + gracePeriodSeconds * 1000).toISOString()
    if (!metadata.deletionTimestamp) put(kind, { metadata: { name: metadata.name, deletionTimestamp } })
    const stays =
      kind === 'pods' ? gracePeriodSeconds > 0 : kind === 'jobs' && !isOver(objects.jobs.get(metadata.name) ?? object)
    if (!stays) remove(kind, metadata.name)
    return object
  }

  function list(kind: Kind, selector: string) {
    const wanted = selector.split(',').map((each) => each.split('='))
    const items = [...objects[kind].values()].filter(({ metadata }) =>
      wanted.every(([key = '', value]) => key === '' || metadata.labels[key] === value),
    )
    return { metadata: { resourceVersion: String(version) }, items }
  }

  function watch(kind: Kind, from: number, response: ServerResponse): null {
    response.writeHead(200)
    response.flushHeaders()
    if (from < compactedTo) {
      response.end(`${JSON.stringify({ type: 'ERROR', object: { code: 410, reason: 'Expired' } })}\n`)
      return null
    }
    for (const event of history)
      if (event.kind === kind && event.version > from) response.write(lineOf(event.type, event.object))
    const entry = { kind, response }
    watches.add(entry)
    response.on('close', () => watches.delete(entry))
    return null
  }

  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const { port } = server.address() as AddressInfo
  t.after(() => {
    server.closeAllConnections()
    server.close()
  })

  return {
    url: `http://127.0.0.1:${port}`,
    objects,
    calls,
    logs,
    put,
    remove,
    /** Called after every change of an object. From then on a log that is followed ends with its pod. */
    onChange(listener: (kind: Kind, object: Stored) => void): void {
      followsLogs = true
      listeners.add(listener)
    },
    watchCount: () => watches.size,
    setFault: (next: typeof fault) => void (fault = next),
    cutWatches: () => watches.forEach(({ response }) => response.destroy()),
    /** Drops the past, so that a watch from an older version gets 410 Gone. */
    compact: () => void (compactedTo = version),
    /** A pod of the Job of that name; of several nodes, the one of that number. */
    startPod(
      jobName: string,
      status: Record<string, unknown> = podStatus('Running', { running: {} }),
      index?: number,
    ): Stored {
      const job = objects.jobs.get(jobName)
      if (!job) throw new Error(`no Job ${jobName}`)
      const { uid, labels } = job.metadata
      return put('pods', {
        metadata: {
          name: index === undefined ? `${jobName}-pod` : `${jobName}-${index}-pod`,
          labels,
          annotations: index === undefined ? {} : { 'batch.kubernetes.io/job-completion-index': String(index) },
          ownerReferences: [{ uid, controller: true }],
        },
        status,
      })
    },
  }
}

export function podStatus(phase: string, state: object) {
  return { phase, startTime: new Date().toISOString(), containerStatuses: [{ name: 'trainer', state }] }
}

const lineOf = (type: string, object: Stored) => `${JSON.stringify({ type, object })}\n`
const isKind = (kind: string | undefined): kind is Kind => kinds.some((each) => each === kind)

function refuse(response: ServerResponse, status: number, message: string, retryAfter?: string): void {
  response.writeHead(status, retryAfter === undefined ? {} : { 'retry-after': retryAfter })
  response.end(JSON.stringify({ kind: 'Status', code: status, message }))
}
