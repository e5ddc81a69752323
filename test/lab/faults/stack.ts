// The embedded stack, put together here from its own parts: with a second worker, and with a link that can fail between
// what we run and each server. Servers that die are started again as `npm start` does it.
import { execFileSync } from 'node:child_process'
import { chmodSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { answers200 } from '../../../src/embedded/http-probe.ts'
import { createChild, type Child, type ChildSpec } from '../../../src/embedded/child.ts'
import type { ProcessName } from '../../../src/embedded/process-names.ts'
import { describeHome, prepareHome, type Home } from '../../../src/embedded/data-directory.ts'
import { migrate } from '../../../src/embedded/migrations.ts'
import { choosePorts } from '../../../src/embedded/ports.ts'
import { preparePostgres } from '../../../src/embedded/postgres.ts'
import { prepareObjectStore } from '../../../src/embedded/s3.ts'
import { loadSecrets } from '../../../src/embedded/secrets.ts'
import { entryPoints, environment, serviceDefaults, serviceEnvironment } from '../../../src/embedded/services.ts'
import { endStack } from '../../../src/embedded/stack.ts'
import { prepareTemporal } from '../../../src/embedded/temporal.ts'
import { compileCacheDir, nodeBinary, root, toolPath } from '../../../tools/paths.mjs'
import { createClock, type Clock } from './clock.ts'
import { startFaultyLink, type FaultyLink } from '../../support/faulty-link.ts'
import { freePort } from '../../support/free-port.ts'

export const servers = ['postgres', 'temporal', 's3', 'api', 'worker-1', 'worker-2'] as const
export type ServerName = (typeof servers)[number]
export const linkNames = ['postgres', 'temporal', 's3', 'internal'] as const
export type LinkName = (typeof linkNames)[number]
/** Trainers and model servers have one together. */
export const clockNames = ['api', 'worker-1', 'worker-2', 'programs'] as const
type ClockName = (typeof clockNames)[number]

export type FaultStack = Awaited<ReturnType<typeof startFaultStack>>

/** Short, so that what waits for them can be seen in minutes. */
const limits = {
  ANNEAL_SLOTS: '2',
  ANNEAL_STALL_MINUTES: '0.5',
  ANNEAL_TERMINATION_GRACE_SECONDS: '10',
  ANNEAL_RESUME_LIMIT: '1000',
  // Woken by who asks.
  ANNEAL_WARM_MODELS: '0',
  LOG_LEVEL: 'warn',
}

/** Go's heap grows to twice what is in use before it is collected, which looks like a leak for an hour: here to a fifth more. The profile that it keeps of its heap grows as well. */
const littleGarbage = { GOGC: '20', GODEBUG: 'memprofilerate=0' }
/** For the same reason: what Temporal's caches keep for an hour, or until they hold 8 MiB, which takes a hundred jobs. */
const temporalCaches = [
  ...['history.cacheTTL="5m"', 'history.eventsCacheTTL="5m"', 'history.xdcCacheMaxSizeBytes=262144'],
  'history.cacheBackgroundEvict={"Enabled":true,"LoopInterval":"10s","MaxEntryPerCall":1024}',
].flatMap((setting) => ['--dynamic-config-value', setting])

/** Loaded by our own servers: lets them be measured without their garbage. */
const collectGarbage = join(import.meta.dirname, 'node/collect-garbage.cjs')

/** @param settings of api and workers */
export async function startFaultStack(dir: string, settings: NodeJS.ProcessEnv = {}) {
  const home = describeHome(dir)
  prepareHome(home)
  const secrets = loadSecrets(home)
  const ports = await choosePorts(home, 0, silently)
  const children = new Map<ServerName, Running>()
  const links = new Map<LinkName, FaultyLink>()
  const workerPorts = [await freePort(), await freePort()]
  const env = environment()
  const clocks = new Map(clockNames.map((name) => [name, createClock(join(dir, `clock-${name}`))]))
  const clock = (name: ClockName) => clocks.get(name) as Clock

  // Around every link, for who only looks.
  const beside = { databaseUrl: '', temporalAddress: '' }
  const apiUrl = `http://127.0.0.1:${ports.api}`
  try {
    await start()
  } catch (error) {
    await stop()
    throw error
  }
  return {
    home,
    apiUrl,
    ...beside,
    apiKey: secrets.apiKey,
    pidOf: (name: ServerName) => children.get(name)?.child.identity?.pid ?? null,
    answers: (name: ServerName) =>
      children
        .get(name)
        ?.answers()
        .catch(() => false) ?? Promise.resolve(false),
    link: (name: LinkName) => links.get(name) as FaultyLink,
    clock,
    stop,
  }

  async function start() {
    const { databaseUrl, ...postgres } = await preparePostgres(home, ports.postgres, secrets.databasePassword, never)
    const { address, uiUrl, keepHistories, args, ...temporal } = prepareTemporal(home, ports)
    const { endpoint, ...s3 } = prepareObjectStore(home, ports.s3, secrets, { ...env, ...littleGarbage })
    await launch('postgres', { env, ...postgres })
    await migrate(databaseUrl, never)
    await launch('temporal', {
      ...temporal,
      args: [...args, ...temporalCaches],
      env: { ...env, ...littleGarbage },
    })
    Object.assign(beside, { databaseUrl, temporalAddress: address })
    await keepHistories()
    await launch('s3', s3)

    const at = {
      apiUrl,
      internalUrl: await throughLink('internal', `http://127.0.0.1:${ports.internal}`),
      adminUrl: `http://127.0.0.1:${ports.admin}`,
      temporalAddress: (await throughLink('temporal', `http://${address}`)).replace(/^http:\/\/|\/$/g, ''),
      temporalUiUrl: uiUrl,
      databaseUrl: await throughLink('postgres', databaseUrl),
      s3Endpoint: await throughLink('s3', endpoint),
    }
    const services = {
      ...serviceEnvironment(home, ports, secrets, at),
      ...limits,
      ...settings,
      ANNEAL_PYTHON: makePython(home, clock('programs')),
      ANNEAL_WORKFLOW_BUNDLE: bundleWorkflows(home),
      NODE_COMPILE_CACHE: compileCacheDir,
      NODE_OPTIONS: `${serviceDefaults.NODE_OPTIONS} --require "${collectGarbage}"`,
    }
    await launch('api', program('api', { ...services, ...clock('api').environment }, `${apiUrl}/readyz`))
    for (const [index, name] of (['worker-1', 'worker-2'] as const).entries()) {
      const port = workerPorts[index]
      const environment = { ...services, ...clock(name).environment, ANNEAL_WORKER_PORT: String(port) }
      await launch(name, program('worker', environment, `http://127.0.0.1:${port}/readyz`))
    }
  }

  async function stop() {
    for (const link of links.values()) link.mend()
    await endStack(home, silently, (names) => Promise.all([...children.values()].map((each) => endIfOf(names, each))))
    for (const link of links.values()) link.close()
  }

  async function launch(name: ServerName, spec: Omit<ChildSpec, 'name' | 'logPath'>) {
    const kind = name.replace(/-\d$/, '') as ProcessName
    const child = createChild({ ...spec, name: kind, logPath: home.log(name) }, silently, silently)
    children.set(name, { child, answers: spec.answers })
    child.start()
    await child.whenReady()
  }

  /** The same address, by way of a link. */
  async function throughLink(name: LinkName, url: string) {
    const { hostname: host, port } = new URL(url)
    const link = await startFaultyLink({ host, port: Number(port) })
    links.set(name, link)
    return url.replace(`:${port}`, `:${link.port}`)
  }
}

type Running = { child: Child; answers: () => Promise<boolean> }

/** Servers end all the time here; their logs say why. */
const silently = () => undefined

const never = new AbortController().signal

const endIfOf = (names: readonly ProcessName[], { child }: Running) =>
  names.includes(child.name) ? child.stop() : Promise.resolve()

const program = (name: 'api' | 'worker', env: NodeJS.ProcessEnv, url: string) => ({
  command: nodeBinary,
  args: [entryPoints[name]],
  env,
  answers: () => answers200(url),
  pollMs: 120,
})

/** Trainers of jobs with a file `deaf-<job>` in the data directory do not hear SIGTERM. */
function makePython(home: Home, { environment: clock }: Clock): string {
  const path = join(home.dir, 'python')
  const site = join(import.meta.dirname, 'python')
  const variables = Object.entries(clock).map(([name, value]) => `export ${name}="${value}"\n`)
  writeFileSync(
    path,
    `#!/bin/sh\n${variables.join('')}PYTHONPATH="${site}:$PYTHONPATH" exec "${toolPath('python')}" "$@"\n`,
  )
  chmodSync(path, 0o700)
  return path
}

/** Once, not at every start of a worker. */
function bundleWorkflows(home: Home): string {
  const path = join(home.dir, 'workflows.js')
  execFileSync(nodeBinary, [join(root, 'tools/bundle-workflows.mjs'), path], { stdio: 'ignore' })
  return path
}
