// The rows and notifications that the request path reads, in memory.
import { EventEmitter } from 'node:events'
import { setTimeout as sleep } from 'node:timers/promises'
import { createLog } from '../../../src/log.ts'
import type { InferenceDependencies } from '../../../src/inference/inference.ts'
import type { Replica, ServedModel } from '../../../src/repositories/model-servers.ts'
import type { OutboxMessage } from '../../../src/repositories/outbox.ts'
import { patienceMs } from '../../support/eventually.ts'

export const tokenOf = (baseModel: string, generation: number) => `token of ${baseModel} ${generation}`

export const replicaAt = (url: string, more: Partial<Replica> = {}): Replica => ({
  instance: new URL(url).host,
  url,
  seenAt: new Date(),
  isReporting: true,
  ...more,
})

export type FakeServers = ReturnType<typeof createFakeServers>

/** @param onWake what a workflow would do */
export function createFakeServers(onWake: (baseModel: string) => void = () => undefined) {
  const rows = new Map<string, ServedModel>()
  const changes = new EventEmitter().setMaxListeners(0)
  const wakes: OutboxMessage[] = []
  const touches: string[] = []
  const finds: string[] = []

  return {
    rows,
    wakes,
    touches,
    finds,

    /** `endpoint`: of its only replica. */
    set({ endpoint, ...server }: Partial<ServedModel> & { baseModel: string; endpoint?: string | undefined }) {
      const blank = { generation: 1, state: 'starting', reason: null, message: null } as const
      const replicas = endpoint === undefined ? [] : [replicaAt(endpoint)]
      rows.set(server.baseModel, { ...blank, lastUsedAt: new Date(), replicas, ...server })
      changes.emit('model_servers')
    },

    /** The change is made, but its notification is lost. */
    setSilently(server: ServedModel) {
      rows.set(server.baseModel, server)
    },

    dependencies({ coldStartTimeoutMs = patienceMs, answerTimeoutMs = patienceMs } = {}): InferenceDependencies {
      return {
        modelServers: {
          findServed: async (baseModel) => {
            finds.push(baseModel)
            return rows.get(baseModel) ?? null
          },
          touch: async (baseModel) => {
            touches.push(baseModel)
            const row = rows.get(baseModel)
            if (row) row.lastUsedAt = new Date()
          },
        },
        outbox: {
          add: async (message) => {
            wakes.push(message)
            if (message.kind === 'wake-model-server') onWake(message.payload.baseModel)
          },
        },
        notifications: {
          on: (channel, listener) => {
            changes.on(channel, listener)
            return () => changes.off(channel, listener)
          },
          next: async (channel, { timeoutMs, signal }) => {
            const woken = new AbortController()
            const wake = () => woken.abort()
            changes.once(channel, wake)
            const signals = signal ? [woken.signal, signal] : [woken.signal]
            await sleep(timeoutMs, undefined, { signal: AbortSignal.any(signals) }).catch(() => undefined)
            changes.off(channel, wake)
          },
        },
        serverToken: tokenOf,
        coldStartTimeoutMs,
        answerTimeoutMs,
        log: createLog('test', 'silent'),
      }
    },
  }
}
