// The Secret that `anneal bootstrap --secret` writes. Pods read it as environment variables of the command line.
import { KubeConfig } from '@kubernetes/client-node'
import { createApiCaller } from './api/api-caller.ts'
import { createConnection } from './api/connection.ts'
import { createKubernetesApi } from './api/kubernetes-api.ts'
import { createRateLimiter } from './api/rate-limiter.ts'

/** Needs the verbs create, get and patch for Secrets. `namespace` null is that of the pod, or of the current context. */
export function openKeySecret({ name, namespace }: { name: string; namespace: string | null }) {
  const config = new KubeConfig()
  config.loadFromDefault()
  const target = namespace ?? config.getContextObject(config.getCurrentContext())?.namespace ?? 'default'
  const limiter = createRateLimiter({ perSecond: 10, burst: 10 })
  const caller = createApiCaller({ connection: createConnection(config), limiter })
  return {
    /** Overwrites both values if the Secret exists. */
    put: ({ secret, accountId }: { secret: string; accountId: string }) =>
      createKubernetesApi(caller, target).putSecret({
        apiVersion: 'v1',
        kind: 'Secret',
        metadata: {
          name,
          labels: { 'app.kubernetes.io/managed-by': 'anneal', 'app.kubernetes.io/component': 'first-key' },
        },
        stringData: { ANNEAL_API_KEY: secret, ANNEAL_ACCOUNT_ID: accountId },
      }),
    exists: async () => (await caller.find(`/api/v1/namespaces/${target}/secrets/${name}`)) !== null,
    close: () => caller.close(),
  }
}
