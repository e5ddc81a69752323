// `anneal doctor`: asks every dependency what an installation needs of it. Leaves nothing behind.
import type { readKubernetesConfig } from '../../config/kubernetes.ts'
import type { Config } from '../../config/service.ts'
import type { TemporalConfig } from '../../config/temporal.ts'
import { failed, ok, type Finding } from '../../domain/finding.ts'
import { connectDatabase } from '../../repositories/database.ts'
import { createStorage } from '../../storage/storage.ts'
import { judgeClocks } from './clocks.ts'
import { checkDatabase } from './database.ts'
import { runCheck } from './run-check.ts'
import { checkSignIn } from './sign-in.ts'
import { checkStore } from './store.ts'
import { checkTemporal } from './temporal.ts'

export type Examined = {
  config: Config
  temporal: TemporalConfig
  nexusTaskQueue: string
  /** Null without --kubernetes. */
  kubernetes: { settings: ReturnType<typeof readKubernetesConfig>; objects: unknown } | null
}

const apiTimeoutMs = 5000

export async function examine({ config, temporal, nexusTaskQueue, kubernetes }: Examined): Promise<Finding[]> {
  const database = connectDatabase(config.databaseSession, { poolSize: 1 })
  const parts = await Promise.all([
    checkDatabase(config),
    checkStore(createStorage(config.s3), () => database.installation.id()),
    checkTemporal(temporal, nexusTaskQueue),
    checkSignIn(config.signIn, kubernetes !== null),
    ...(kubernetes ? [openKubernetes(config, kubernetes)] : []),
  ]).finally(() => database.close())
  const api = await runCheck('internal api', 'Check ANNEAL_INTERNAL_URL, and look at the log of the api.', () =>
    askApi(config.internalUrl),
  )
  return [...parts.flatMap(({ findings }) => findings), api, judgeClocks(parts.map(({ clock }) => clock))]
}

/** Pods of runs use this address too. */
async function askApi(internalUrl: string) {
  const answer = await fetch(`${internalUrl}/readyz`, { signal: AbortSignal.timeout(apiTimeoutMs) })
  await answer.body?.cancel()
  if (answer.ok) return ok(`is ready at ${internalUrl}`)
  return failed(`answers at ${internalUrl} with status ${answer.status}`, 'Look at the log of the api.')
}

async function openKubernetes({ catalogue }: Config, { settings, objects }: NonNullable<Examined['kubernetes']>) {
  // Loaded only here: client-node takes half a second to load.
  const [{ openCluster }, { checkKubernetes }] = await Promise.all([
    import('../../compute/kubernetes/open-cluster.ts'),
    import('./kubernetes.ts'),
  ])
  const cluster = openCluster(settings)
  try {
    return await checkKubernetes(cluster, settings, catalogue, objects)
  } finally {
    cluster.api.close()
  }
}
