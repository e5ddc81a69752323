// The activities of a model server's workflow. The newest launch is the fence: only its token may report an endpoint, and
// only it may change the row's state. Each launch is a run of its own name, so a late call for one touches no newer one.
// The row, and with it the workflow, calls the number of the launch `generation`.
import { ApplicationFailure, cancellationSignal } from '@temporalio/activity'
import { setTimeout as sleep } from 'node:timers/promises'
import type { ModelServerCompute, ModelServerSpec, ModelServerState } from '../src/compute/model-servers.ts'
import type { EndState, RunRef, RunSummary } from '../src/compute/run.ts'
import { gibibyte, type Catalogue, type CatalogueEntry } from '../src/domain/catalogue.ts'
import { modelServerName, modelServerRunName, sha256 } from '../src/domain/identifiers.ts'
import { sentenceOf, type ModelServerEnd } from '../src/domain/model-server.ts'
import { modelServerToken } from '../src/domain/model-server-token.ts'
import { loadingModel } from '../src/domain/pending-reason.ts'
import type { Database } from '../src/repositories/database.ts'
import type { ModelServer } from '../src/repositories/model-servers.ts'
import type { Notifications } from '../src/repositories/notifications.ts'
import { withHeartbeat } from './heartbeat.ts'
import { isInvalidSpec } from './compute-error.ts'
import { describeModelServerEnd } from './model-server-end.ts'

type Repository = 'find' | 'openLaunch' | 'setState' | 'noteWait' | 'removeReplicas' | 'touch'

export type ModelServerDependencies = {
  database: { modelServers: Pick<Database['modelServers'], Repository> } & Pick<Database, 'now'>
  notifications: Notifications
  modelServers: ModelServerCompute
  catalogue: Catalogue
  settings: { secret: string; internalUrl: string; terminationGraceMs: number }
}

export type ModelServerActivities = ReturnType<typeof createModelServerActivities>

type Server = { baseModel: string; generation: number }
type Launched = Server & { uid: string }

const readyCheckMs = 2000
/** Longer than the request path keeps an endpoint in memory. */
const drainMs = 1500

export function createModelServerActivities(deps: ModelServerDependencies) {
  const { modelServers, settings } = deps
  const rows = deps.database.modelServers
  const tokenOf = ({ baseModel, generation }: Server) => modelServerToken(settings.secret, baseModel, generation)

  return {
    /** The launch of a living server, which is then adopted, or the next. A repeat may open one more, which stays unused. */
    async openModelServer({ baseModel }: { baseModel: string }): Promise<{ generation: number }> {
      const server = await rows.find(baseModel)
      const runs = await listRuns(modelServers, baseModel)
      if (server && (server.state === 'starting' || server.state === 'ready')) {
        const run = runs.find(({ name }) => name === runName(server))
        if (run?.state.state === 'running' || run?.state.state === 'pending') return { generation: server.generation }
      }
      // After a restore the row may be behind what was launched.
      const generation = Math.max(server?.generation ?? 0, ...runs.map(launchOf)) + 1
      await rows.openLaunch({
        baseModel,
        generation,
        tokenHash: sha256(tokenOf({ baseModel, generation })),
      })
      // Otherwise it might count as idle as soon as it is ready.
      await rows.touch(baseModel)
      return { generation }
    },

    /** Starts this launch, or finds it started. An older one is ended first: both would need the same memory. */
    launchModelServer: ({ baseModel, generation }: Server): Promise<{ uid: string }> =>
      withHeartbeat(async () => {
        const entry = entryOf(deps.catalogue, baseModel)
        if (((await rows.find(baseModel))?.generation ?? 0) > generation)
          throw ApplicationFailure.nonRetryable(
            `Launch ${generation} of ${baseModel} is superseded by a newer one.`,
            'fenced',
          )
        await endRuns(deps, { baseModel, generation: generation - 1 })
        const spec = runSpec(settings, entry, generation, tokenOf({ baseModel, generation }))
        const { uid } = await modelServers.launch(spec).catch(giveUpIfInvalid)
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
              const server = await rows.find(baseModel)
              if (server?.generation === generation && server.state === 'ready') return 'ready'
              if (performance.now() > deadlineMs) return 'late'
              await deps.notifications.next('model_servers', { timeoutMs: readyCheckMs, signal })
              signal.throwIfAborted()
            }
          },
        )
        if (reached === 'ready') return null
        if (reached !== 'late') {
          const end = await describeModelServerEnd(modelServers, refOf({ baseModel, generation, uid }), reached)
          return withItsOwnWords(end, await rows.find(baseModel))
        }
        const minutes = Math.round(timeoutMs / 60_000)
        const reason = sentenceOf(await rows.find(baseModel))
        return {
          cause: 'not_ready',
          message: `The model server was not ready within ${minutes} minutes.${reason ? ` ${reason}` : ''}`,
        }
      }),

    /** @returns null once it has been unused for this long, else how it ended */
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
          : describeModelServerEnd(modelServers, refOf({ baseModel, generation, uid }), reached)
      }),

    /** Records why it is away, until the next start or for good. */
    async recordModelServerEnd({
      end,
      willRestart,
      ...server
    }: Server & { end: ModelServerEnd; willRestart: boolean }) {
      const state = willRestart ? 'starting' : 'failed'
      await rows.setState(server, { state, reason: end.cause, message: end.message })
    },

    /** Resolves once no process of it is left. @returns false when it was to stop as idle but was used meanwhile */
    stopModelServer: ({ idleTimeoutMs, ...server }: Server & { idleTimeoutMs: number | null }): Promise<boolean> =>
      withHeartbeat(async () => {
        const { baseModel } = server
        const state = (await rows.find(baseModel))?.state
        if (idleTimeoutMs !== null && state === 'ready') {
          if ((await msUntilIdle(deps, baseModel, idleTimeoutMs)) > 0) return false
          await rows.setState(server, { state: 'stopping', reason: 'idle', message: null })
          await sleep(drainMs)
        } else {
          await rows.setState(server, { state: 'stopping', reason: 'stopping', message: null })
        }
        await endRuns(deps, server)
        const reason = idleTimeoutMs === null ? 'stopped' : 'idle'
        await rows.setState(server, { state: 'stopped', reason, message: null })
        return true
      }),
  }
}

/** Resolves at the end of the run or of `look`. Meanwhile the row says what the run waits for and which replicas live. */
async function untilEndOr<T>(
  { modelServers, database }: ModelServerDependencies,
  server: Launched,
  look: (signal: AbortSignal) => Promise<T>,
): Promise<EndState | T> {
  const found = new AbortController()
  const signal = AbortSignal.any([cancellationSignal(), found.signal])
  let recorded = Promise.resolve()
  let before: readonly string[] = []
  const onState = (state: ModelServerState) => {
    const instances = state.state === 'running' ? state.instances : undefined
    const gone = instances ? before.filter((instance) => !instances.includes(instance)) : []
    before = instances ?? before
    // One after the other. The next change makes up for a failed write, and an endpoint that is gone does not answer.
    recorded = recorded.then(() => record(database.modelServers, server, state, gone)).catch(() => undefined)
  }
  try {
    return await Promise.race([modelServers.watch(refOf(server), { signal, onState }), look(signal)])
  } finally {
    found.abort()
    await recorded
  }
}

/** A program that cannot get its model says why before it ends. */
function withItsOwnWords(end: ModelServerEnd, server: ModelServer | null): ModelServerEnd {
  if (end.cause !== 'model_unavailable' || server?.reason !== loadingModel || server.message === null) return end
  const [sentence, ...log] = end.message.split('\n')
  return { ...end, message: [`${sentence} ${server.message}`, ...log].join('\n') }
}

async function record(
  rows: ModelServerDependencies['database']['modelServers'],
  server: Server,
  state: ModelServerState,
  gone: readonly string[],
) {
  if (gone.length > 0) await rows.removeReplicas(server, gone)
  if (state.state === 'pending') await rows.noteWait(server, state)
  if (state.state === 'running') await rows.noteWait(server, { reason: 'starting', message: null })
}

async function msUntilIdle({ database }: ModelServerDependencies, baseModel: string, idleTimeoutMs: number) {
  const server = await database.modelServers.find(baseModel)
  return server ? server.lastUsedAt.getTime() + idleTimeoutMs - (await database.now()).getTime() : 0
}

/** Ends this launch and those before it; resolves once no process of them is left. */
async function endRuns({ modelServers, settings }: ModelServerDependencies, { baseModel, generation }: Server) {
  for (const run of await listRuns(modelServers, baseModel))
    if (launchOf(run) <= generation) await modelServers.terminate(run, { graceMs: settings.terminationGraceMs })
}

/** The runs of all launches. */
const listRuns = (modelServers: ModelServerCompute, baseModel: string) =>
  modelServers.list({ server: modelServerName(baseModel) })

/** A retry cannot help where the cluster never admits such a pod: the workflow gives up and says why. */
function giveUpIfInvalid(error: unknown): never {
  throw isInvalidSpec(error) ? ApplicationFailure.nonRetryable(error.message, 'refused') : error
}

const launchOf = ({ labels }: RunSummary) => Number(labels['launch'] ?? 0)
const runName = ({ baseModel, generation }: Server) => modelServerRunName(baseModel, generation)
const refOf = (server: Launched): RunRef => ({ name: runName(server), uid: server.uid })

function entryOf(catalogue: Catalogue, baseModel: string): CatalogueEntry {
  const entry = catalogue.find(baseModel)
  if (entry) return entry
  throw ApplicationFailure.nonRetryable(`${baseModel} is not in the model catalogue.`, 'model_unavailable')
}

function runSpec(
  settings: ModelServerDependencies['settings'],
  entry: CatalogueEntry,
  generation: number,
  token: string,
): ModelServerSpec {
  const { name, engine, source, sha256, dtype, resources } = entry
  const limits = { context_length: entry.contextLength, max_batch: entry.maxBatch }
  const adapterMemoryBytes = Math.floor(entry.adapterMemoryGiB * gibibyte)
  const adapters = {
    max_adapters: entry.maxAdapters,
    adapter_memory_bytes: adapterMemoryBytes,
    max_rank: entry.maxRank,
  }
  const spec = { name, engine, source, sha256, dtype, ...limits, ...adapters }
  return {
    name: modelServerRunName(name, generation),
    model: name,
    labels: { server: modelServerName(name), launch: String(generation) },
    env: { ANNEAL_INTERNAL_URL: settings.internalUrl, ANNEAL_SERVER_SPEC: JSON.stringify(spec) },
    secretEnv: { ANNEAL_TOKEN: token },
    resources: {
      cpuCount: resources.cpuCount,
      memoryBytes: resources.memoryGiB * gibibyte,
      diskBytes: resources.diskGiB * gibibyte,
      gpuCount: resources.gpuCount,
    },
    replicas: resources.replicas,
    terminationGraceMs: settings.terminationGraceMs,
  }
}
