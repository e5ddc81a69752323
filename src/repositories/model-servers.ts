import { notify } from './notifications.ts'
import type { Connection } from './database.ts'

export type ModelServerState = 'starting' | 'ready' | 'stopping' | 'stopped' | 'failed'

export type ModelServer = {
  baseModel: string
  generation: number
  state: ModelServerState
  endpoint: string | null
  /** Why it is not ready: a stable word and a sentence. */
  reason: string | null
  message: string | null
  lastUsedAt: Date
}

const columns = {
  baseModel: true,
  generation: true,
  state: true,
  endpoint: true,
  reason: true,
  message: true,
  lastUsedAt: true,
} as const

export const createModelServerRepository = (db: Connection) => ({
  async find(baseModel: string): Promise<ModelServer | null> {
    const row = await db.modelServer.findUnique({ where: { baseModel }, select: columns })
    return row as ModelServer | null
  },

  /** A new launch: from here on only the server with this token may report. */
  async openGeneration({
    baseModel,
    generation,
    tokenHash,
  }: {
    baseModel: string
    generation: number
    tokenHash: Uint8Array
  }) {
    const data = {
      generation,
      state: 'starting',
      tokenHash: Uint8Array.from(tokenHash),
      endpoint: null,
      reason: 'starting',
      message: null,
    }
    await db.modelServer.upsert({ where: { baseModel }, create: { baseModel, ...data }, update: data })
    await notify(db, 'model_servers')
  },

  /** Compare-and-set: an older generation cannot speak for a newer one. */
  async setState(
    { baseModel, generation }: { baseModel: string; generation: number },
    { state, reason, message }: { state: ModelServerState; reason: string | null; message: string | null },
  ) {
    const cleared = state === 'ready' ? {} : { endpoint: null }
    await db.modelServer.updateMany({ where: { baseModel, generation }, data: { state, reason, message, ...cleared } })
    await notify(db, 'model_servers')
  },

  /** The server's own report. @returns false when it is fenced */
  async reportReady(tokenHash: Uint8Array, endpoint: string): Promise<boolean> {
    const { count } = await db.modelServer.updateMany({
      where: { tokenHash: Uint8Array.from(tokenHash), state: { in: ['starting', 'ready'] } },
      data: { state: 'ready', endpoint, readyAt: new Date(), reason: null, message: null },
    })
    if (count === 1) await notify(db, 'model_servers')
    return count === 1
  },

  async touch(baseModel: string) {
    await db.modelServer.updateMany({ where: { baseModel }, data: { lastUsedAt: new Date() } })
  },
})
