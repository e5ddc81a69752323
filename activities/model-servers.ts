// What the workflow of a model server does to the world. The row's generation is the fence: only the newest launch's token
// may report an endpoint, and only its generation may move the state. Each launch is a run of its own name, and what is
// done for one touches no newer one, however late it comes.
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import { setTimeout as sleep } from 'node:timers/promises'
import type { Compute, EndState, RunRef, RunSpec, RunState, RunSummary } from '../src/compute/compute.ts'
import type { Catalogue, CatalogueEntry } from '../src/domain/catalogue.ts'
import { modelServerName, modelServerRunName, sha256 } from '../src/domain/identifiers.ts'
import type { ModelServerEnd } from '../src/domain/model-server.ts'
import { modelServerToken } from '../src/domain/model-server-token.ts'
import type { Database } from '../src/repositories/database.ts'
import type { Notifications } from '../src/repositories/notifications.ts'
import { withHeartbeat } from './heartbeat.ts'
import { isInvalidSpec } from './compute-error.ts'
import { describeModelServerEnd } from './model-server-end.ts'

type Repository = 'find' | 'openGeneration' | 'setState' | 'noteWait' | 'removeReplicas' | 'touch'

export type ModelServerDependencies = {
  database: { modelServers: Pick<Database['modelServers'], Repository> } & Pick<Database, 'now'>
  notifications: Notifications
  compute: Compute
  catalogue: Catalogue
  settings: { secret: string; internalUrl: string; terminationGraceMs: number }
}

export type ModelServerActivities = ReturnType<typeof createModelServerActivities>

type Server = { baseModel: string; generation: number }
type Launched = Server & { uid: string }

const gibibyte = 1024 ** 3
const readyLookMs = 2000
/** Longer than the request path trusts an endpoint that it has read. */
const drainMs = 1500

export function createModelServerActivities(deps: ModelServerDependencies) {
  const { compute, settings } = deps
  const { modelServers } = deps.database
  const tokenOf = ({ baseModel, generation }: Server) => modelServerToken(settings.secret, baseModel, generation)

  return {
    /** The generation to launch: a living server's own, which is then adopted, or the next. A repeat may open one more, which nobody launches. */
    async openModelServer({ baseModel }: { baseModel: string }): Promise<{ generation: number }> {
      const server = await modelServers.find(baseModel)
      const runs = await listRuns(compute, baseModel)
      if (server && (server.state === 'starting' || server.state === 'ready')) {
        const run = runs.find(({ name }) => name === runName(server))
        if (run?.state.state === 'running' || run?.state.state === 'pending') return { generation: server.generation }
      }
      // After a restore the row may be behind what was launched.
      const generation = Math.max(server?.generation ?? 0, ...runs.map(generationOf)) + 1
      await modelServers.openGeneration({
        baseModel,
        generation,
        tokenHash: sha256(tokenOf({ baseModel, generation })),
      })
      // Else it might count as idle the moment it is ready.
      await modelServers.touch(baseModel)
      return { generation }
    },

    /** Starts this generation, or finds it started. An older one is ended first: both would want the same memory. */
    launchModelServer: ({ baseModel, generation }: Server): Promise<{ uid: string }> =>
      withHeartbeat(async () => {
        const entry = entryOf(deps.catalogue, baseModel)
        if (((await modelServers.find(baseModel))?.generation ?? 0) > generation)
          throw ApplicationFailure.nonRetryable(`There is a newer launch than ${generation}.`, 'fenced')
        await endRuns(deps, { baseModel, generation: generation - 1 })
        const spec = runSpec(settings, entry, generation, tokenOf({ baseModel, generation }))
        const { uid } = await compute.launch(spec).catch(refusedForGood)
        return { uid }
      }),

    /** @returns null once it is ready, else how it ended before */
    awaitModelServer: ({ baseModel, generation, uid, timeoutMs }: Launched & { timeoutMs: number }) =>
      withHeartbeat(async (): Promise<ModelServerEnd | null> => {
        const reached = await untilEndOr(
          deps,
          { baseModel, generation, uid },
          async (signal): Promise<'ready' | 'late'> => {
            const deadlineMs = performance.now() + timeoutMs
            for (;;) {
              const server = await modelServers.find(baseModel)
              if (server?.generation === generation && server.state === 'ready') return 'ready'
              if (performance.now() > deadlineMs) return 'late'
              await deps.notifications.next('model_servers', { timeoutMs: readyLookMs, signal })
              signal.throwIfAborted()
            }
          },
        )
        if (reached === 'ready') return null
        if (reached !== 'late') return describeModelServerEnd(compute, refOf({ baseModel, generation, uid }), reached)
        const minutes = Math.round(timeoutMs / 60_000)
        const why = (await modelServers.find(baseModel))?.message?.split('\n', 1)[0]
        return { cause: 'not_ready', message: `It was not ready within ${minutes} minutes.${why ? ` ${why}` : ''}` }
      }),

    /** @returns null once nobody has used it for this long, else how it ended */
    watchModelServer: ({ baseModel, generation, uid, idleTimeoutMs }: Launched & { idleTimeoutMs: number }) =>
      withHeartbeat(async (): Promise<ModelServerEnd | null> => {
        const reached = await untilEndOr(deps, { baseModel, generation, uid }, async (signal): Promise<'idle'> => {
          for (;;) {
            const idleInMs = await msUntilIdle(deps, baseModel, idleTimeoutMs)
            if (idleInMs <= 0) return 'idle'
            await sleep(idleInMs, undefined, { signal })
          }
        })
        return reached === 'idle'
          ? null
          : describeModelServerEnd(compute, refOf({ baseModel, generation, uid }), reached)
      }),

    /** Says why it is away, until the next start or for good. */
    async recordModelServerEnd({
      end,
      willRestart,
      ...server
    }: Server & { end: ModelServerEnd; willRestart: boolean }) {
      const state = willRestart ? 'starting' : 'failed'
      await modelServers.setState(server, { state, reason: end.cause, message: end.message })
    },

    /** Resolves once no process of it is left. @returns false when it was to stop as idle and somebody has come to use it */
    stopModelServer: ({ idleTimeoutMs, ...server }: Server & { idleTimeoutMs: number | null }): Promise<boolean> =>
      withHeartbeat(async () => {
        const { baseModel } = server
        const state = (await modelServers.find(baseModel))?.state
        if (idleTimeoutMs !== null && state === 'ready') {
          if ((await msUntilIdle(deps, baseModel, idleTimeoutMs)) > 0) return false
          await modelServers.setState(server, { state: 'stopping', reason: 'idle', message: null })
          await sleep(drainMs)
        } else {
          await modelServers.setState(server, { state: 'stopping', reason: 'stopping', message: null })
        }
        await endRuns(deps, server)
        const reason = idleTimeoutMs === null ? 'stopped' : 'idle'
        await modelServers.setState(server, { state: 'stopped', reason, message: null })
        return true
      }),
  }
}

/** The end of the run, or what `look` finds first. Meanwhile the row says what the run waits for and which replicas are gone. */
async function untilEndOr<T>(
  { compute, database }: ModelServerDependencies,
  server: Launched,
  look: (signal: AbortSignal) => Promise<T>,
): Promise<EndState | T> {
  const found = new AbortController()
  const signal = AbortSignal.any([cancellationSignal(), found.signal])
  let told = Promise.resolve()
  let before: readonly string[] = []
  const onState = (state: RunState) => {
    const instances = state.state === 'running' ? state.instances : undefined
    const gone = instances ? before.filter((instance) => !instances.includes(instance)) : []
    before = instances ?? before
    // In order. What cannot be told now is told by the next change, or shows by itself: nobody answers there.
    told = told.then(() => tell(database.modelServers, server, state, gone)).catch(() => undefined)
  }
  try {
    return await Promise.race([compute.watch(refOf(server), { signal, onState }), look(signal)])
  } finally {
    found.abort()
    await told
  }
}

async function tell(
  modelServers: ModelServerDependencies['database']['modelServers'],
  server: Server,
  state: RunState,
  gone: readonly string[],
) {
  if (gone.length > 0) await modelServers.removeReplicas(server, gone)
  if (state.state === 'pending') await modelServers.noteWait(server, state)
  if (state.state === 'running') await modelServers.noteWait(server, { reason: 'starting', message: null })
}

async function msUntilIdle({ database }: ModelServerDependencies, baseModel: string, idleTimeoutMs: number) {
  const server = await database.modelServers.find(baseModel)
  return server ? server.lastUsedAt.getTime() + idleTimeoutMs - (await database.now()).getTime() : 0
}

/** This launch and those before it; resolves once no process of them is left. */
async function endRuns({ compute, settings }: ModelServerDependencies, { baseModel, generation }: Server) {
  for (const run of await listRuns(compute, baseModel))
    if (generationOf(run) <= generation) await compute.terminate(run, { graceMs: settings.terminationGraceMs })
}

/** Of every launch. */
const listRuns = (compute: Compute, baseModel: string): Promise<RunSummary[]> =>
  compute.list({ program: 'model-server', labels: { server: modelServerName(baseModel) } })

/** A cluster that will never take such a pod: the workflow gives up and says why. */
function refusedForGood(error: unknown): never {
  throw isInvalidSpec(error) ? ApplicationFailure.nonRetryable(error.message, 'refused') : error
}

const generationOf = ({ labels }: RunSummary) => Number(labels['generation'] ?? 0)
const runName = ({ baseModel, generation }: Server) => modelServerRunName(baseModel, generation)
const refOf = (server: Launched): RunRef => ({ name: runName(server), uid: server.uid })

function entryOf(catalogue: Catalogue, baseModel: string): CatalogueEntry {
  const entry = catalogue.find(baseModel)
  if (entry) return entry
  throw ApplicationFailure.nonRetryable(`${baseModel} is not in the model catalogue (any more).`, 'model_unavailable')
}

function runSpec(
  settings: ModelServerDependencies['settings'],
  { name, engine, source, sha256: weights, contextLength, maxBatch, maxAdapters, resources }: CatalogueEntry,
  generation: number,
  token: string,
): RunSpec {
  const limits = { context_length: contextLength, max_batch: maxBatch, max_adapters: maxAdapters }
  const spec = { name, engine, source, sha256: weights, ...limits }
  return {
    name: modelServerRunName(name, generation),
    program: 'model-server',
    model: name,
    labels: { server: modelServerName(name), generation: String(generation) },
    env: { ANNEAL_INTERNAL_URL: settings.internalUrl, ANNEAL_SERVER_SPEC: JSON.stringify(spec) },
    secretEnv: { ANNEAL_TOKEN: token },
    resources: {
      cpuCount: resources.cpuCount,
      memoryBytes: resources.memoryGiB * gibibyte,
      gpuCount: resources.gpuCount,
    },
    replicas: resources.replicas,
    terminationGraceMs: settings.terminationGraceMs,
  }
}
