// Starts the servers in the order of their dependencies, and ends them in order.
import { nodeBinary } from '../../tools/paths.mjs'
import { answers200 } from './http-probe.ts'
import { readCatalogue } from './catalogue.ts'
import { createChild, type Child, type ChildSpec } from './child.ts'
import { processNames, type ProcessName } from './process-names.ts'
import { removeConnection } from './connection.ts'
import type { Home } from './data-directory.ts'
import { endLeftovers, forgetChildren, leftovers, recordChildren } from './leftovers.ts'
import { rotateLog } from './logs.ts'
import { migrate } from './migrations.ts'
import { choosePorts, type Ports } from './ports.ts'
import { preparePostgres } from './postgres.ts'
import { endRuns } from './runs.ts'
import { prepareObjectStore } from './s3.ts'
import { loadSecrets, type Secrets } from './secrets.ts'
import { entryPoints, environment, serviceEnvironment, type Addresses } from './services.ts'
import { StartError } from './start-error.ts'
import { prepareTemporal } from './temporal.ts'
import { writeConnection } from './write-connection.ts'

type StackOptions = { home: Home; port: number; say: (text: string) => void }
export type Stack = { start(): Promise<Addresses>; stop(): Promise<void> }

export function createStack({ home, port, say }: StackOptions): Stack {
  const children = new Map<ProcessName, Child>()
  const interruption = new AbortController()
  let publish = () => {}
  let starting: Promise<Addresses> | undefined
  return { start: () => (starting ??= start()), stop }

  async function start(): Promise<Addresses> {
    const found = leftovers(home).map(([name]) => name)
    if (found.length > 0) say(`ending the processes of a killed supervisor: ${found.join(', ')}`)
    await endLeftovers(home)
    const secrets = loadSecrets(home)
    const ports = await choosePorts(home, port, say)
    const addresses = await startServers(secrets, ports)
    await startServices(secrets, ports, addresses)
    const baseModel = readCatalogue().defaultCompletionModel.name
    publish = () => {
      const pids = processNames.flatMap((name) => {
        const pid = children.get(name)?.identity?.pid
        return pid === undefined ? [] : [[name, pid]]
      })
      writeConnection(home, addresses, secrets, baseModel, Object.fromEntries(pids))
    }
    publish()
    return addresses
  }

  async function startServers(secrets: Secrets, ports: Ports): Promise<Addresses> {
    const env = environment()
    const { address: temporalAddress, uiUrl: temporalUiUrl, keepHistories, ...temporal } = prepareTemporal(home, ports)
    const s3 = prepareObjectStore(home, ports.s3, secrets, env)
    const startPostgres = async () => {
      const { databaseUrl, ...postgres } = await preparePostgres(
        home,
        ports.postgres,
        secrets.databasePassword,
        interruption.signal,
      )
      await launch({ name: 'postgres', env, ...postgres })
      await migrate(databaseUrl, interruption.signal)
      return databaseUrl
    }
    const [databaseUrl] = await Promise.all([
      startPostgres(),
      launch({ name: 'temporal', env, ...temporal }).then(keepHistories),
      launch({ name: 's3', ...s3 }),
    ])
    return {
      apiUrl: `http://127.0.0.1:${ports.api}`,
      internalUrl: `http://127.0.0.1:${ports.internal}`,
      adminUrl: `http://127.0.0.1:${ports.admin}`,
      temporalAddress,
      temporalUiUrl,
      databaseUrl,
      s3Endpoint: s3.endpoint,
    }
  }

  async function startServices(secrets: Secrets, ports: Ports, at: Addresses) {
    const env = serviceEnvironment(home, ports, secrets, at)
    const isReady = () => answers200(`${at.apiUrl}/readyz`)
    const names = ['api', 'worker'] as const
    // Both are ready when the api says so.
    const starting = names.map((name) =>
      launch({ name, command: nodeBinary, args: [entryPoints[name]], env, answers: isReady, pollMs: 120 }),
    )
    await Promise.all(starting)
  }

  async function launch(spec: Omit<ChildSpec, 'logPath'>) {
    if (interruption.signal.aborted) throw new StartError('The start was interrupted.')
    const logPath = home.log(spec.name)
    rotateLog(logPath)
    const child = createChild({ ...spec, logPath }, say, onProcesses)
    children.set(spec.name, child)
    const startedAt = performance.now()
    child.start()
    await child.whenReady()
    say(`${spec.name.padEnd(9)} ready after ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  }

  function onProcesses() {
    try {
      recordChildren(home, [...children.values()])
      publish()
    } catch (error) {
      // The disk is full. The server runs all the same; the next change of a process writes the file again.
      say(`the new process ids cannot be written: ${(error as Error).message}`)
    }
  }

  async function stop() {
    interruption.abort()
    publish = () => {}
    removeConnection(home)
    await endStack(home, say, (names) =>
      Promise.all(names.map((name) => children.get(name)?.stop() ?? Promise.resolve())),
    )
    await Promise.allSettled([starting])
  }
}

/** Ends the worker first, since it would start new runs. Runs need api, object store and database for their last checkpoint. */
export async function endStack(
  home: Home,
  say: (text: string) => void,
  end: (names: readonly ProcessName[]) => Promise<unknown> = (names) => endLeftovers(home, names),
): Promise<void> {
  await end(['worker'])
  await endRuns(home, say)
  await end(['api'])
  await end(['temporal', 's3'])
  await end(['postgres'])
  forgetChildren(home)
}
