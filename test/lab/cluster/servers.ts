// Postgres, Temporal and the object store beside the cluster, as the embedded stack runs them, reachable for pods at the
// host's address. Presigned URLs name that address too: it works for pods and for this machine.
import { rmSync } from 'node:fs'
import { createChild, type Child, type ChildSpec } from '../../../src/embedded/child.ts'
import { describeHome, prepareHome } from '../../../src/embedded/data-directory.ts'
import { endLeftovers, forgetChildren, recordChildren } from '../../../src/embedded/leftovers.ts'
import { choosePorts } from '../../../src/embedded/ports.ts'
import { preparePostgres } from '../../../src/embedded/postgres.ts'
import { prepareObjectStore } from '../../../src/embedded/s3.ts'
import { loadSecrets } from '../../../src/embedded/secrets.ts'
import { bucket, environment } from '../../../src/embedded/services.ts'
import { prepareTemporal } from '../../../src/embedded/temporal.ts'
import { createControl } from './orders.ts'
import type { Cluster } from './settings.ts'

export type Servers = Awaited<ReturnType<typeof startServers>>

/** @param dir the folder for their data, emptied first. `stop` ends the servers; the next start ends those of a killed run. */
export async function startServers(dir: string, cluster: Cluster, say: (text: string) => void) {
  const home = describeHome(dir)
  await endLeftovers(home)
  rmSync(dir, { recursive: true, force: true })
  prepareHome(home)
  const secrets = loadSecrets(home)
  const ports = await choosePorts(home, 0, say)
  const children: Child[] = []
  const s3 = prepareObjectStore(home, ports.s3, secrets, environment())
  const { keepHistories: _, ...temporal } = prepareTemporal(home, ports)
  const { databaseUrl, ...postgres } = await preparePostgres(
    home,
    ports.postgres,
    secrets.databasePassword,
    AbortSignal.timeout(60_000),
  )
  await Promise.all([
    launch({ name: 'postgres', env: environment(), ...postgres }),
    launch({ name: 'temporal', env: environment(), ...temporal }),
    launch({ name: 's3', ...s3 }),
  ])
  const { forward } = createControl(cluster)
  for (const port of [ports.postgres, ports.temporal, ports.s3]) await forward(port)
  const forPods = (url: string) => url.replace('127.0.0.1', cluster.host.address)
  const at = {
    databaseUrl: forPods(databaseUrl),
    temporalAddress: forPods(temporal.address),
    temporalUiUrl: temporal.uiUrl,
    s3Endpoint: forPods(s3.endpoint),
  }
  return {
    home,
    secrets,
    /** Maps each placeholder in `k8s/overlays/test` to the address of its server. */
    ports: { 5432: ports.postgres, 7233: ports.temporal, 9000: ports.s3 },
    /** Addresses that work for pods and for this machine. */
    at,
    /** The settings of the api and the worker. */
    environment: {
      DATABASE_URL: at.databaseUrl,
      TEMPORAL_ADDRESS: at.temporalAddress,
      S3_ENDPOINT: at.s3Endpoint,
      S3_REGION: 'us-east-1',
      S3_BUCKET: bucket,
      S3_ACCESS_KEY: secrets.s3AccessKey,
      S3_SECRET_KEY: secrets.s3SecretKey,
      ANNEAL_SECRET: secrets.signingSecret,
      ANNEAL_BOOTSTRAP_API_KEY: secrets.apiKey,
    },
    async stop() {
      await Promise.all(children.map((child) => child.stop()))
      forgetChildren(home)
    },
  }

  async function launch(spec: Omit<ChildSpec, 'logPath'>) {
    const child = createChild({ ...spec, logPath: home.log(spec.name) }, say, () => recordChildren(home, children))
    children.push(child)
    child.start()
    await child.whenReady()
  }
}
