// The main process of a cluster: it starts the machines, keeps their daemons running, and takes orders on a socket.
// Killing it ends everything but the cluster's folder and control groups, which `down` or the next start removes.
//   supervisor.ts PROGRAMS KUEUE IMAGE...    KUEUE: the folder of its program, or empty for a cluster without Kueue
import { mkdirSync } from 'node:fs'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import { takeLock } from '../../../tools/pid-lock.mjs'
import { createApi, until } from './api.ts'
import { makeCertificates } from './certificates.ts'
import { dnsAnswers, openControl, startApiServer, startControllers, startKueue } from './control-machine.ts'
import { startFaultProxy, type Faults } from './fault-proxy.ts'
import { removeRemains } from './leftovers.ts'
import { cutNode, joinNode } from './network.ts'
import { openNode, whenReady, type NodeMachine } from './node-machine.ts'
import { enforcePolicies } from './policy-enforcer.ts'
import { everyCluster, type Cluster, type Machine } from './settings.ts'
import { forward } from './tcp.ts'

const [bin = '', kueueFolder = '', ...images] = process.argv.slice(2)
const cluster =
  everyCluster().find(({ lock }) => takeLock(lock) === null) ?? fail('As many clusters run here as there can be.')
const steps: { name: string; atMs: number }[] = []
let failure: string | null = null
let isReady = false

process.env['PATH'] = [bin, kueueFolder, process.env['PATH']].filter(Boolean).join(':')
await removeRemains(cluster)
mkdirSync(cluster.logs, { recursive: true })
process.once('SIGTERM', () => process.exit(0))

const orders: Record<string, (body: Record<string, never>) => unknown> = {
  'GET /state': () => ({ steps, isReady, failure }),
}
createServer(answer).listen(cluster.controlSocket)
try {
  await start(cluster)
  isReady = true
} catch (error) {
  failure = (error as Error).stack ?? String(error)
}

async function start(settings: Cluster) {
  await step('certificates', makeCertificates(settings))
  const api = createApi(settings)
  const control = await openControl(settings, bin)
  const opened = step('API server', startApiServer(settings, control, api))
  const nodes = await Promise.all(
    settings.nodes.map(async (node) => [node, await openNode(settings, node, control.namespaces, bin)] as const),
  )
  const importing = step('images', Promise.all(nodes.flatMap(([, machine]) => images.map(machine.importImage))))
  await opened
  startControllers(settings, control)
  await importing
  for (const [, machine] of nodes) machine.join()
  const enforceOnNodes = (rules: string) => Promise.all(nodes.map(([, machine]) => machine.enforce(rules)))
  void enforcePolicies(api, enforceOnNodes, (text) => console.error(text))
  const proxy = await startFaultProxy(settings)
  takeOrders(settings, control, new Map(nodes.map(([{ name }, machine]) => [name, machine])), proxy)
  await Promise.all([
    ...settings.nodes.map((node) => step(`${node.name} ready`, whenReady(api, node))),
    ...(kueueFolder ? [step('Kueue', startKueue(settings, control, api, kueueFolder))] : []),
    step('DNS', dnsAnswers(settings)),
    until('the default service account', () => api.find('/api/v1/namespaces/default/serviceaccounts/default')),
  ])
}

function takeOrders(
  settings: Cluster,
  control: Awaited<ReturnType<typeof openControl>>,
  nodes: Map<Machine, NodeMachine>,
  proxy: Awaited<ReturnType<typeof startFaultProxy>>,
) {
  const forwarded = new Set<number>()
  type Target = { machine: Machine; daemon: string }
  const machineOf = (name: Machine) => nodes.get(name) ?? fail(`There is no node ${name}.`)
  const nodeOf = (name: Machine) =>
    settings.nodes.find((node) => node.name === name) ?? fail(`There is no node ${name}.`)
  const daemonOf = ({ machine, daemon }: Target) =>
    (machine === 'control' ? control : machineOf(machine)).daemons.get(daemon) ?? fail(`${machine} runs no ${daemon}.`)
  Object.assign(orders, {
    'POST /stop': (target: Target) => daemonOf(target).stop(),
    'POST /start': (target: Target) => daemonOf(target).start(),
    'POST /kill': ({ machine }: Target) => machineOf(machine).kill(),
    'POST /revive': ({ machine }: Target) => machineOf(machine).revive(),
    'POST /cut': ({ machine }: Target) => cutNode(nodeOf(machine), control.namespaces),
    'POST /join': ({ machine }: Target) => joinNode(nodeOf(machine), control.namespaces),
    'POST /import': async ({ archive }: { archive: string }) => {
      await Promise.all([...nodes.values()].map((machine) => machine.importImage(archive)))
    },
    'POST /forward': async ({ port }: { port: number }) => {
      if (!forwarded.has(port)) await forward(settings.host.address, port)
      forwarded.add(port)
    },
    'POST /faults': (faults: Faults) => proxy.setFaults(faults),
    'GET /calls': () => proxy.calls(),
    'POST /forget-calls': () => proxy.forgetCalls(),
  })
}

async function answer(request: IncomingMessage, response: ServerResponse) {
  try {
    const order = orders[`${request.method} ${request.url}`] ?? fail(`No such order: ${request.url}`)
    const chunks: Buffer[] = []
    for await (const chunk of request) chunks.push(chunk as Buffer)
    const result = await order(JSON.parse(Buffer.concat(chunks).toString() || '{}') as Record<string, never>)
    response.end(JSON.stringify(result ?? null))
  } catch (error) {
    response.writeHead(500).end(JSON.stringify((error as Error).message))
  }
}

async function step(name: string, work: Promise<unknown>) {
  await work
  steps.push({ name, atMs: Math.round(performance.now()) })
}

function fail(message: string): never {
  throw new Error(message)
}
