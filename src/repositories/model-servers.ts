import { Prisma } from '../../generated/prisma/client.ts'
import { loadingModel } from '../domain/pending-reason.ts'
import { notify } from './notifications.ts'
import type { Connection } from './connection.ts'

type ModelServerState = 'starting' | 'ready' | 'stopping' | 'stopped' | 'failed'

export type ModelServer = {
  baseModel: string
  generation: number
  state: ModelServerState
  /** Why the server is not ready: a stable word; `message` is the sentence. */
  reason: string | null
  message: string | null
  lastUsedAt: Date
}

/** `isReporting`: the replica's last report is at most 90 seconds old. It reports every 30 seconds. */
export type Replica = { instance: string; url: string; seenAt: Date; isReporting: boolean }
export type ServedModel = ModelServer & { replicas: Replica[] }

export type ReadyReport = { instance: string; url: string; engine: string; version: string }

/** The column `generation` holds the number of the launch. */
type Launch = { baseModel: string; generation: number }

const columns = {
  baseModel: true,
  generation: true,
  state: true,
  reason: true,
  message: true,
  lastUsedAt: true,
} as const

export const createModelServerRepository = (db: Connection) => ({
  async find(baseModel: string): Promise<ModelServer | null> {
    const row = await db.modelServer.findUnique({ where: { baseModel }, select: columns })
    return row as ModelServer | null
  },

  /** Finds the server and its replicas in one query, because requests wait for it. */
  async findServed(baseModel: string): Promise<ServedModel | null> {
    const [server] = servedModels(
      await db.$queryRaw<ServedRow[]>`
      ${selectServed} where server.base_model = ${baseModel} order by instance`,
    )
    return server ?? null
  },

  /** All servers with their replicas, by base model. */
  async listServed(): Promise<ServedModel[]> {
    return servedModels(await db.$queryRaw<ServedRow[]>`${selectServed} order by server.base_model, instance`)
  },

  /** Begins a launch: only replicas with its token may report. Compare-and-set: a late call does nothing. */
  async openLaunch({ baseModel, generation, tokenHash }: Launch & { tokenHash: Uint8Array }) {
    const data = {
      generation,
      state: 'starting',
      tokenHash: Uint8Array.from(tokenHash),
      reason: 'starting',
      message: null,
    }
    const { count } = await db.modelServer.createMany({ data: [{ baseModel, ...data }], skipDuplicates: true })
    if (count === 0) await db.modelServer.updateMany({ where: { baseModel, generation: { lt: generation } }, data })
    await db.modelServerEndpoint.deleteMany({ where: { baseModel, generation: { lt: generation } } })
    await notify(db, 'model_servers')
  },

  /** Compare-and-set on the launch. Removes the replicas of a server that is not ready. */
  async setState(
    { baseModel, generation }: Launch,
    { state, reason, message }: { state: ModelServerState; reason: string | null; message: string | null },
  ) {
    const data = { state, reason, message }
    const { count } = await db.modelServer.updateMany({ where: { baseModel, generation }, data })
    if (count === 1 && state !== 'ready')
      await db.modelServerEndpoint.deleteMany({ where: { baseModel, generation: { lte: generation } } })
    await notify(db, 'model_servers')
  },

  /** Stores what the start waits for. What its program reports stays until the program is ready or ends. */
  async noteWait({ baseModel, generation }: Launch, { reason, message }: { reason: string; message: string | null }) {
    const { count } = await db.modelServer.updateMany({
      where: { baseModel, generation, state: 'starting', NOT: [{ reason, message }, { reason: loadingModel }] },
      data: { reason, message },
    })
    if (count > 0) await notify(db, 'model_servers')
  },

  /** Stores how far a program is with the loading of its model. */
  async noteLoading(tokenHash: Uint8Array, message: string) {
    const { count } = await db.modelServer.updateMany({
      where: { tokenHash: Uint8Array.from(tokenHash), state: 'starting' },
      data: { reason: loadingModel, message },
    })
    if (count > 0) await notify(db, 'model_servers')
  },

  /** Stores a replica's report. @returns false when its launch is fenced */
  async reportReady(tokenHash: Uint8Array, { instance, url, engine, version }: ReadyReport): Promise<boolean> {
    const rows = await db.$queryRaw<{ isNews: boolean }[]>`
      with server as (
        update model_servers
        set state = 'ready', reason = null, message = null, updated_at = now(),
          ready_at = case when state = 'ready' then ready_at else now() end
        where token_hash = ${Buffer.from(tokenHash)} and state in ('starting', 'ready')
        returning base_model, generation
      )
      insert into model_server_endpoints as replica (base_model, generation, instance, url, engine, version)
      select base_model, generation, ${instance}, ${url}, ${engine}, ${version} from server
      on conflict (base_model, generation, instance) do update
        set url = excluded.url, engine = excluded.engine, version = excluded.version, seen_at = now(),
          ready_at = case when replica.url = excluded.url then replica.ready_at else now() end
      returning ready_at = seen_at as "isNews"`
    if (rows[0]?.isNews) await notify(db, 'model_servers')
    return rows.length === 1
  },

  /** Removes a replica that takes no more requests. @returns false for an unknown token */
  async removeReplica(tokenHash: Uint8Array, instance: string): Promise<boolean> {
    const server = await db.modelServer.findUnique({
      where: { tokenHash: Uint8Array.from(tokenHash) },
      select: { baseModel: true, generation: true },
    })
    if (!server) return false
    const { count } = await db.modelServerEndpoint.deleteMany({ where: { ...server, instance } })
    if (count > 0) await notify(db, 'model_servers')
    return true
  },

  /** Removes replicas that the compute has seen end. */
  async removeReplicas({ baseModel, generation }: Launch, instances: readonly string[]) {
    const { count } = await db.modelServerEndpoint.deleteMany({
      where: { baseModel, generation, instance: { in: [...instances] } },
    })
    if (count > 0) await notify(db, 'model_servers')
  },

  async touch(baseModel: string) {
    await db.$executeRaw`update model_servers set last_used_at = now() where base_model = ${baseModel}`
  },
})

type ServedRow = ModelServer & { [key in keyof Replica]: Replica[key] | null }

const selectServed = Prisma.sql`
  select server.base_model as "baseModel", server.generation, state, reason, message, last_used_at as "lastUsedAt",
    instance, url, seen_at as "seenAt", seen_at > now() - interval '90 seconds' as "isReporting"
  from model_servers server left join model_server_endpoints replica using (base_model, generation)`

/** A server without replicas has one row, without an instance. */
const servedModels = (rows: readonly ServedRow[]): ServedModel[] =>
  [...Map.groupBy(rows, ({ baseModel }) => baseModel).values()].map((ofServer) => {
    const {
      instance: _instance,
      url: _url,
      seenAt: _seenAt,
      isReporting: _isReporting,
      ...server
    } = ofServer[0] as ServedRow
    const replicas = ofServer.filter((row) => row.instance !== null) as Replica[]
    return {
      ...server,
      replicas: replicas.map(({ instance, url, seenAt, isReporting }) => ({ instance, url, seenAt, isReporting })),
    }
  })
