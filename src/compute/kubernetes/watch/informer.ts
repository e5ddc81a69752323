// Follows one collection of the cluster: it lists the objects, then watches for changes, again and again until the abort.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Readable } from 'node:stream'
import { ApiError, hasStatus } from '../api/api-error.ts'
import type { Collection, KubernetesApi } from '../api/kubernetes-api.ts'
import type { KubernetesObject } from '../api/kubernetes-object.ts'

export type InformerOptions = {
  api: Pick<KubernetesApi, 'list' | 'watch'>
  collection: Collection
  /** Also called for objects that did not change. */
  onObject: (object: KubernetesObject) => void
  /** `object`: its last state, if known. */
  onGone: (uid: string, object: KubernetesObject | null) => void
  /** Called with the reason when the objects may be out of date, and with null when they are current again. */
  onTrouble: (message: string | null) => void
  signal: AbortSignal
  relistAfterMs?: number
  maxSilenceMs?: number
  maxOpeningMs?: number
}

type WatchEvent = { type: 'ADDED' | 'MODIFIED' | 'DELETED' | 'BOOKMARK' | 'ERROR'; object: KubernetesObject }

const maxGlitches = 3
const firstWaitMs = 200
const maxWaitMs = 5_000

/** Resolves once `signal` aborts. */
export async function runInformer(options: InformerOptions): Promise<void> {
  const { signal, onTrouble } = options
  const known = new Set<string>()
  let version: string | null = null
  let listAgainAtMs = 0
  let failures = 0
  while (!signal.aborted) {
    try {
      if (version === null || performance.now() >= listAgainAtMs) {
        version = await list(options, known)
        listAgainAtMs = performance.now() + spread(options.relistAfterMs ?? 300_000)
      }
      const stream: Readable = await open(options, version, listAgainAtMs - performance.now())
      onTrouble(null)
      failures = 0
      version = await follow(options, stream, version, known)
    } catch (error) {
      if (signal.aborted) return
      failures++
      if (isGone(error)) version = null
      else if (version === null || failures % maxGlitches === 0) {
        onTrouble(messageOf(error))
        // Lists again: a watch resumed from the old version would first show old states.
        version = null
      }
      const waitMs = Math.min(firstWaitMs * 2 ** (failures - 1), maxWaitMs)
      await sleep(spread(waitMs), undefined, { signal }).catch(() => undefined)
    }
  }
}

async function list({ api, collection, signal, onObject, onGone }: InformerOptions, known: Set<string>) {
  const { items, version } = await api.list(collection, (object) => object, signal)
  const present = new Set(items.map(uidOf))
  for (const uid of [...known].filter((each) => !present.has(each))) {
    known.delete(uid)
    onGone(uid, null)
  }
  for (const object of items) {
    known.add(uidOf(object))
    onObject(object)
  }
  return version
}

/** Gives up on a server that accepts the request and never answers, because the objects would be out of date unnoticed. */
async function open(
  { api, collection, signal, maxOpeningMs = 15_000 }: InformerOptions,
  version: string,
  forMs: number,
): Promise<Readable> {
  const late = new AbortController()
  const timer = setTimeout(
    () => late.abort(new Error('The Kubernetes API server did not start the watch in time.')),
    maxOpeningMs,
  )
  try {
    const range = { version, forSeconds: Math.max(1, Math.ceil(forMs / 1000)) }
    return await api.watch(collection, range, AbortSignal.any([signal, late.signal]))
  } finally {
    clearTimeout(timer)
  }
}

/** @returns the version from which to continue, once the server ends the watch or the connection breaks */
async function follow(
  { onObject, onGone, maxSilenceMs = 90_000 }: InformerOptions,
  stream: Readable,
  from: string,
  known: Set<string>,
): Promise<string> {
  let version = from
  // A healthy watch sends a bookmark every minute.
  const silence = setTimeout(() => stream.destroy(), maxSilenceMs)
  try {
    for await (const line of linesOf(stream)) {
      silence.refresh()
      const { type, object } = JSON.parse(line) as WatchEvent
      if (type === 'ERROR') throw new ApiError(codeOf(object), JSON.stringify(object), undefined)
      version = object.metadata?.resourceVersion ?? version
      if (type === 'BOOKMARK') continue
      if (type === 'DELETED') {
        known.delete(uidOf(object))
        onGone(uidOf(object), object)
      } else {
        known.add(uidOf(object))
        onObject(object)
      }
    }
  } catch (error) {
    // A cut connection is resumed from this version. Only a failure to open it again is reported.
    if (error instanceof ApiError) throw error
  } finally {
    clearTimeout(silence)
    stream.destroy()
  }
  return version
}

async function* linesOf(stream: Readable): AsyncGenerator<string> {
  stream.setEncoding('utf8')
  let rest = ''
  for await (const chunk of stream as AsyncIterable<string>) {
    const lines = (rest + chunk).split('\n')
    rest = lines.pop() ?? ''
    for (const line of lines) if (line !== '') yield line
  }
}

const uidOf = (object: KubernetesObject) => object.metadata?.uid ?? ''
const codeOf = (object: object) => ('code' in object && typeof object.code === 'number' ? object.code : 500)
const isGone = (error: unknown) => hasStatus(error, 410) || (error instanceof ApiError && error.reason === 'Expired')
/** Spreads the retries of many workers. */
const spread = (ms: number) => ms * (0.75 + Math.random() * 0.5)
const messageOf = (error: unknown) => (error instanceof Error ? error.message : String(error))
