import { suite, type TestContext } from 'node:test'
import { modelServersConform } from '../conformance/model-servers.ts'
import { trainersConform } from '../conformance/trainers.ts'
import { startApiServer } from './support/small-api-server.ts'
import { modelServersOn, someRun, trainersOn } from './support/small-cluster.ts'
import { startKubelet } from './support/small-kubelet.ts'

const secretEnv = { ANNEAL_TOKEN: 'the token' }

async function startCluster(t: TestContext) {
  const server = await startApiServer(t)
  startKubelet(t, server)
  return server
}

suite('Kubernetes trainers', () =>
  trainersConform(async (t) => {
    const server = await startCluster(t)
    return {
      compute: trainersOn(t, server.url),
      another: trainersOn(t, server.url),
      run: (name, script, more) => someRun(name, { env: { SCRIPT: script }, secretEnv, ...more }),
      async cutOff() {
        server.setFault(() => ({ status: 503 }))
        server.cutWatches()
        return { restore: async () => server.setFault(() => undefined) }
      },
    }
  }),
)

suite('Kubernetes model servers', () =>
  modelServersConform(async (t) => {
    const server = await startCluster(t)
    return {
      compute: modelServersOn(t, server.url),
      another: modelServersOn(t, server.url),
      run: (name, launch, script) => ({
        ...someRun(`${name}-g${launch}`, { env: { SCRIPT: script }, secretEnv }),
        labels: { server: name, launch: String(launch) },
      }),
    }
  }),
)
