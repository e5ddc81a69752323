// The workflow of a model server on a real Temporal server with its real activities and real processes. Only the row is
// in memory, and the program is a shell that the test tells what to do.
import { DefaultLogger, Runtime, Worker } from '@temporalio/worker'
import { TestWorkflowEnvironment } from '@temporalio/testing'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root, toolPath } from '../../../tools/paths.mjs'
import { createModelServerActivities, type ModelServerDependencies } from '../../../activities/model-servers.ts'
import { createLocalModelServers } from '../../../src/compute/local/local-compute.ts'
import { parseCatalogue } from '../../../src/domain/catalogue.ts'
import { modelServerRunName, sameHash, sha256 } from '../../../src/domain/identifiers.ts'
import type { ModelServer } from '../../../src/repositories/model-servers.ts'
import type { Notifications } from '../../../src/repositories/notifications.ts'
import { searchAttributes, taskQueue, wakeSignal, watchTaskQueue } from '../../../workflows/contract.ts'
import { until } from '../../support/eventually.ts'

export type Rig = Awaited<ReturnType<typeof startRig>>

const catalogue = parseCatalogue(JSON.parse(readFileSync(join(root, 'models.json'), 'utf8')))

export async function startRig() {
  Runtime.install({ logger: new DefaultLogger('ERROR') })
  const home = mkdtempSync(join(tmpdir(), 'anneal-model-server-'))
  const temporal = await TestWorkflowEnvironment.createLocal({
    server: {
      executable: { type: 'existing-path', path: process.env['ANNEAL_TEMPORAL_BIN'] ?? toolPath('temporal') },
      searchAttributes: Object.values(searchAttributes),
      log: { level: 'error', format: 'pretty' },
    },
  })
  const rows = createRows()
  const modelServers = createLocalModelServers({
    home,
    python: process.env['ANNEAL_PYTHON'] ?? toolPath('python'),
    pythonPath: root,
    modelsDir: root,
    // Says its token, then waits for a signal or for an exit code in a file.
    programs: {
      trainer: ['/bin/false'],
      'model-server': [
        '/bin/sh',
        '-c',
        `echo "token $ANNEAL_TOKEN"; while [ ! -f ${home}/exit ]; do sleep 0.05; done; echo "the last words"; exit $(cat ${home}/exit)`,
      ],
    },
  })
  const activities = createModelServerActivities({
    database: { modelServers: rows.repository, now: async () => new Date() },
    notifications: rows.notifications,
    modelServers,
    catalogue,
    settings: {
      secret: 'a secret of at least thirty-two characters',
      internalUrl: 'http://internal',
      terminationGraceMs: 2000,
    },
  })
  const worker = { connection: temporal.nativeConnection, activities, shutdownGraceTime: '1 second' } as const

  return {
    home,
    rows,
    client: temporal.client,
    baseModel: catalogue.defaultCompletionModel.name,

    /** @returns the way to stop them */
    async startWorkers() {
      const workers = await Promise.all([
        Worker.create({ ...worker, taskQueue, workflowsPath: join(root, 'workflows/model-server.ts') }),
        Worker.create({ ...worker, taskQueue: watchTaskQueue }),
      ])
      const running = workers.map((each) => each.run())
      return async () => {
        workers.forEach((each) => each.shutdown())
        await Promise.all(running)
      }
    },

    /** What the relay does with a wake message. */
    wake: (baseModel: string, idleTimeoutMs: number) =>
      temporal.client.workflow.signalWithStart('modelServer', {
        workflowId: `model-server-${baseModel}`,
        taskQueue,
        args: [{ baseModel, idleTimeoutMs }],
        signal: wakeSignal,
      }),

    /** What the program does once it is ready. */
    async reportReady(baseModel: string, generation: number) {
      await until(`generation ${generation} runs`, () => {
        const token = /token (\S+)/.exec(
          readQuietly(join(home, `runs/${modelServerRunName(baseModel, generation)}/log`)),
        )?.[1]
        return token !== undefined && rows.reportReady(baseModel, generation, token)
      })
    },

    pid: (baseModel: string, generation: number) =>
      Number(readFileSync(join(home, `runs/${modelServerRunName(baseModel, generation)}/pid`), 'utf8')),

    async close() {
      await temporal.teardown()
      for (const run of await modelServers.list()) await modelServers.terminate(run, { graceMs: 0 })
      rmSync(home, { recursive: true, force: true })
    },
  }
}

export function createRows() {
  const servers = new Map<string, ModelServer & { tokenHash: Uint8Array }>()
  const listeners = new Set<() => void>()
  const changed = () => listeners.forEach((listener) => listener())
  let looks = 0
  let isInUse = false
  const repository: ModelServerDependencies['database']['modelServers'] = {
    async find(baseModel) {
      looks += 1
      if (isInUse) await repository.touch(baseModel)
      return structuredClone(servers.get(baseModel) ?? null)
    },
    async openLaunch({ baseModel, generation, tokenHash }) {
      const before = servers.get(baseModel)
      if (before && before.generation >= generation) return
      const lastUsedAt = before?.lastUsedAt ?? new Date()
      const starting = { state: 'starting', reason: 'starting', message: null } as const
      servers.set(baseModel, { baseModel, generation, tokenHash, lastUsedAt, ...starting })
      changed()
    },
    async setState({ baseModel, generation }, state) {
      const server = servers.get(baseModel)
      if (server?.generation === generation) Object.assign(server, state)
      changed()
    },
    async noteWait({ baseModel, generation }, wait) {
      const server = servers.get(baseModel)
      if (server?.generation === generation && server.state === 'starting') Object.assign(server, wait)
    },
    removeReplicas: async () => undefined,
    async touch(baseModel) {
      const server = servers.get(baseModel)
      if (server) server.lastUsedAt = new Date()
    },
  }
  const notifications: Notifications = {
    onJob: () => () => undefined,
    onAccessEnd: () => () => undefined,
    on(_channel, listener) {
      listeners.add(listener)
      return () => listeners.delete(listener)
    },
    next: (_channel, { timeoutMs, signal }) =>
      sleep(Math.min(timeoutMs, 50), undefined, signal && { signal }).catch(() => undefined),
    close: async () => undefined,
  }
  return {
    repository,
    notifications,
    get: (baseModel: string) => servers.get(baseModel),
    /** How often a row was read. */
    looks: () => looks,
    /** Every read finds a row that was used just now. @returns how to end that */
    use() {
      isInUse = true
      return () => (isInUse = false)
    },
    reportReady(baseModel: string, generation: number, token: string): boolean {
      const server = servers.get(baseModel)
      if (!server || server.generation !== generation || !sameHash(server.tokenHash, sha256(token))) return false
      Object.assign(server, { state: 'ready', reason: null })
      changed()
      return true
    },
  }
}

function readQuietly(path: string): string {
  try {
    return readFileSync(path, 'utf8')
  } catch {
    return ''
  }
}
