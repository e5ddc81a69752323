// The Secret that `anneal bootstrap --secret` writes. Pods read it as environment variables of the command line.
import { KubeConfig } from '@kubernetes/client-node'
import { createApiCaller } from './api/api-caller.ts'
import { createConnection } from './api/connection.ts'
import { createRateLimiter } from './api/rate-limiter.ts'

const path = (namespace: string, name = '') => `/api/v1/namespaces/${namespace}/secrets/${name}`.replace(/\/$/, '')

/**
 * Needs the verbs get and patch, and create where the Secret does not exist. `namespace` null is that of the pod, or of the
 * current context.
 */
export function openKeySecret({ name, namespace }: { name: string; namespace: string | null }) {
  const config = new KubeConfig()
  config.loadFromDefault()
  const target = namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default'
  const limiter = createRateLimiter({ perSecond: 10, burst: 10 })
  const caller = createApiCaller({ connection: createConnection(config), limiter })
  const find = () => caller.find(path(target, name)) as Promise<{ data?: Record<string, string> } | null>
  return {
    /** Overwrites both values if the Secret exists. */
    async put({ secret, accountId }: { secret: string; accountId: string }) {
      const stringData = { ANNEAL_API_KEY: secret, ANNEAL_ACCOUNT_ID: accountId }
      if (await find()) {
        const patch = { method: 'PATCH', path: path(target, name), patchType: 'application/merge-patch+json' } as const
        return void (await caller.call({ ...patch, body: { stringData } }))
      }
      const body = { apiVersion: 'v1', kind: 'Secret', metadata: { name }, stringData }
      await caller.call({ method: 'POST', path: path(target), body })
    },
    /** Whether the Secret has a key. */
    hasKey: async () => (await find())?.data?.['ANNEAL_API_KEY'] !== undefined,
    close: () => caller.close(),
  }
}
