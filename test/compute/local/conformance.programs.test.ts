import { renameSync } from 'node:fs'
import { join } from 'node:path'
import { suite } from 'node:test'
import { modelServersConform } from '../conformance/model-servers.ts'
import { trainersConform } from '../conformance/trainers.ts'
import { shellCompute, shellModelServers, shellRun, testHome } from './support.ts'

const secretEnv = { ANNEAL_TOKEN: 'the token' }

suite('local trainers', () =>
  trainersConform((t) => {
    const home = testHome(t)
    const [runs, away] = [join(home, 'runs'), join(home, 'away')]
    return {
      compute: shellCompute(home),
      another: shellCompute(home),
      run: (name, script, more) => shellRun(name, script, { secretEnv, ...more }),
      async cutOff() {
        renameSync(runs, away)
        return { restore: async () => renameSync(away, runs) }
      },
    }
  }),
)

suite('local model servers', () =>
  modelServersConform((t) => {
    const home = testHome(t)
    return {
      compute: shellModelServers(home),
      another: shellModelServers(home),
      run: (server, launch, script) => ({
        ...shellRun(`${server}-g${launch}`, script),
        labels: { server, launch: String(launch) },
      }),
    }
  }),
)
