// Knows where a model is served. A warm model costs at most two queries a second, and no request waits for them. A cold model
// is woken through the outbox and waited for. The request path never calls Temporal.
import { setTimeout as sleep } from 'node:timers/promises'
import { modelServerName } from '../domain/identifiers.ts'
import { sentenceOf } from '../domain/model-server.ts'
import { isWait } from '../domain/pending-reason.ts'
import { ServiceError } from '../domain/service-error.ts'
import type { Log } from '../log.ts'
import type { Repositories } from '../repositories/database.ts'
import type { ModelServer, ServedModel } from '../repositories/model-servers.ts'
import type { Notifications } from '../repositories/notifications.ts'
import { abortable } from './abortable.ts'
import type { ReadyReplica, Replicas } from './replicas.ts'

export type EndpointDependencies = {
  modelServers: Pick<Repositories['modelServers'], 'findServed' | 'touch'>
  outbox: Pick<Repositories['outbox'], 'add'>
  notifications: Pick<Notifications, 'on' | 'next'>
  /** The bearer token of one launch of a base model's server. */
  serverToken: (baseModel: string, launch: number) => string
  coldStartTimeoutMs: number
  log: Log
}

const freshMs = 1000
/** The replicas of a model in use are read again before this time is over. */
const lookAgainMs = 500
const rereadMs = 2000
const touchEveryMs = 5000
/** A wake may meet a workflow that is just closing; the next wake starts a new one. */
const wakeEveryMs = 10_000
/** After a start failed for good, callers get its reason at once for this long; then another start is tried. */
const failureKeptMs = 30_000
const retryAfterStartSeconds = 5
const retryAfterFailureSeconds = 30

export type Endpoints = ReturnType<typeof createEndpoints>

export function createEndpoints(
  { modelServers, outbox, notifications, serverToken, coldStartTimeoutMs, log }: EndpointDependencies,
  watchers: Pick<Replicas, 'giveUpSilent'>,
) {
  const fresh = new Map<string, { replicas: readonly ReadyReplica[]; readAtMs: number }>()
  const lookups = new Map<string, Promise<readonly ReadyReplica[]>>()
  const lookedAgainAtMs = new Map<string, number>()
  const touchedAtMs = new Map<string, number>()
  const wokenAtMs = new Map<string, number>()
  const failures = new Map<string, { error: ServiceError; atMs: number }>()
  notifications.on('model_servers', () => fresh.clear())

  async function lookUp(baseModel: string): Promise<readonly ReadyReplica[]> {
    const server = await modelServers.findServed(baseModel)
    return remember(server) ?? (await start(baseModel, server))
  }

  function remember(server: ServedModel | null): readonly ReadyReplica[] | null {
    if (server?.state !== 'ready' || server.replicas.length === 0) return null
    const { baseModel, generation } = server
    const token = serverToken(baseModel, generation)
    const replicas = server.replicas.map(({ instance, url, seenAt, isReporting }) => {
      return { baseModel, generation, instance, url, token, seenAtMs: seenAt.getTime(), isReporting }
    })
    fresh.set(baseModel, { replicas, readAtMs: performance.now() })
    failures.delete(baseModel)
    watchers.giveUpSilent(baseModel, replicas)
    return replicas
  }

  /** Until the answer comes, the known replicas stay in use. A newer notification is not overwritten. */
  function lookAgain(baseModel: string) {
    const known = fresh.get(baseModel)
    modelServers
      .findServed(baseModel)
      .then((server) => fresh.get(baseModel) === known && remember(server))
      .catch((error: unknown) => warn(baseModel, error))
  }

  const warn = (baseModel: string, error: unknown) =>
    log.warn({ err: error, baseModel }, "failed to refresh the model server's endpoint")

  async function start(baseModel: string, before: ServedModel | null): Promise<readonly ReadyReplica[]> {
    const failure = failures.get(baseModel)
    if (failure && performance.now() - failure.atMs < failureKeptMs) throw failure.error
    const deadlineMs = performance.now() + coldStartTimeoutMs
    for (let server = before; ; server = await modelServers.findServed(baseModel)) {
      const replicas = remember(server)
      if (replicas) return replicas
      if (server?.state === 'failed' && !isSameFailure(server, before)) throw keepFailure(baseModel, server)
      const leftMs = deadlineMs - performance.now()
      if (leftMs <= 0) throw stillStarting(baseModel, server)
      await wake(baseModel)
      await notifications.next('model_servers', { timeoutMs: Math.min(rereadMs, leftMs) })
    }
  }

  async function wake(baseModel: string) {
    if (!isDue(wokenAtMs, baseModel, wakeEveryMs)) return
    // Before the message, so that a server which is just being stopped as idle stays.
    await modelServers.touch(baseModel)
    const workflowId = modelServerName(baseModel)
    await outbox.add({ workflowId, kind: 'wake-model-server', generation: 0, payload: { baseModel } })
  }

  function keepFailure(baseModel: string, server: ModelServer): ServiceError {
    const error = new ServiceError(
      'unavailable',
      `The model ${baseModel} cannot be served. ${sentenceOf(server) ?? 'Its server does not start.'}`,
      { retryAfterSeconds: retryAfterFailureSeconds },
    )
    failures.set(baseModel, { error, atMs: performance.now() })
    return error
  }

  return {
    coldStartTimeoutMs,

    /**
     * The replicas that were ready within the last second, at least one. Starts a server and waits for it when there is none.
     * @throws ServiceError unavailable
     */
    async ready(baseModel: string, signal: AbortSignal): Promise<readonly ReadyReplica[]> {
      signal.throwIfAborted()
      const known = fresh.get(baseModel)
      const ageMs = known ? performance.now() - known.readAtMs : Number.POSITIVE_INFINITY
      if (known && ageMs < freshMs) {
        if (ageMs >= lookAgainMs && isDue(lookedAgainAtMs, baseModel, lookAgainMs)) lookAgain(baseModel)
        return known.replicas
      }
      const lookup = lookups.get(baseModel) ?? lookUp(baseModel).finally(() => lookups.delete(baseModel))
      lookups.set(baseModel, lookup)
      return abortable(lookup, signal)
    },

    /** Number of replicas at the last refresh; 1 before the first. */
    replicaCount: (baseModel: string) => fresh.get(baseModel)?.replicas.length ?? 1,

    /** Call when a ready replica does not answer: refreshes the replicas and makes sure that the server is restarted. */
    async lost(baseModel: string, { pauseMs, signal }: { pauseMs: number; signal: AbortSignal }) {
      fresh.delete(baseModel)
      await wake(baseModel)
      if (pauseMs > 0) await sleep(pauseMs, undefined, { signal })
    },

    /** Until it is disposed of, the server does not count as idle and its replicas are watched. */
    use(baseModel: string): Disposable {
      const touch = () =>
        isDue(touchedAtMs, baseModel, touchEveryMs) &&
        modelServers.touch(baseModel).catch((error: unknown) => warn(baseModel, error))
      void touch()
      const timer = setInterval(() => {
        if (touch()) lookAgain(baseModel)
      }, touchEveryMs)
      return { [Symbol.dispose]: () => clearInterval(timer) }
    },
  }
}

function stillStarting(baseModel: string, server: ServedModel | null): ServiceError {
  const sentence = sentenceOf(server)
  // Any other reason belongs to the previous start.
  const why = sentence ? (isWait(server?.reason ?? null) ? ` ${sentence}` : ` The last start failed: ${sentence}`) : ''
  return new ServiceError('unavailable', `The model ${baseModel} is still starting; try again in a moment.${why}`, {
    retryAfterSeconds: retryAfterStartSeconds,
  })
}

/** The state when the wait began: a new start is under way. */
const isSameFailure = (server: ModelServer, before: ModelServer | null) =>
  before?.state === 'failed' && before.generation === server.generation

/** True the first time, and then at most once in `everyMs`. */
function isDue(times: Map<string, number>, key: string, everyMs: number): boolean {
  const now = performance.now()
  if (now - (times.get(key) ?? -Infinity) < everyMs) return false
  times.set(key, now)
  return true
}
