// Ports are chosen once and kept: runs that outlive a restart know the internal API by its address.
import { randomInt } from 'node:crypto'
import { once } from 'node:events'
import { createServer } from 'node:net'
import { readJson, writePrivately, type Home } from './data-directory.ts'
import { StartError } from './start-error.ts'

const keptNames = [
  'internal',
  'admin',
  'postgres',
  'temporal',
  'temporalUi',
  'temporalHttp',
  'temporalMetrics',
  's3',
] as const
type PortName = (typeof keptNames)[number] | 'api'
export type Ports = Record<PortName, number>

/** Below the range of outgoing connections, so that none of them occupies a kept port at a restart. */
const lowestPort = 20_000
const highestPort = 32_000

/** @param apiPort 0 for a free one, kept from then on */
export async function choosePorts(home: Home, apiPort: number, say: (text: string) => void): Promise<Ports> {
  const kept = readJson<Partial<Ports>>(home.ports) ?? {}
  const taken = new Set([apiPort])
  const ports: Partial<Ports> = {}
  for (const name of keptNames) ports[name] = await keepOrChoose(name, kept[name], taken, say)
  ports.api = apiPort === 0 ? await keepOrChoose('api', kept.api, taken, say) : apiPort
  if (!(await isFree(ports.api))) {
    throw new StartError(
      `Port ${ports.api} is in use by another program. Choose another: npm start -- --port N (0: any free one).`,
    )
  }
  writePrivately(home.ports, ports)
  return ports as Ports
}

async function keepOrChoose(name: PortName, kept: number | undefined, taken: Set<number>, say: (text: string) => void) {
  if (kept !== undefined && !taken.has(kept) && (await isFree(kept))) {
    taken.add(kept)
    return kept
  }
  const port = await findFree(taken)
  if (kept !== undefined) say(`port ${kept} (${name}) is in use by another program; using ${port} from now on`)
  return port
}

/** Stacks that start at the same time look in different places: a port is free until its program listens, seconds later. */
const ownPorts = 120
const places = (highestPort - lowestPort) / ownPorts

async function findFree(taken: Set<number>): Promise<number> {
  const own = lowestPort + (process.pid % places) * ownPorts
  for (let attempt = 0; attempt < 200; attempt++) {
    const port = attempt < 100 ? own + randomInt(ownPorts) : randomInt(lowestPort, highestPort)
    if (taken.has(port) || !(await isFree(port))) continue
    taken.add(port)
    return port
  }
  throw new StartError(`No free port was found between ${lowestPort} and ${highestPort} on 127.0.0.1.`)
}

async function isFree(port: number): Promise<boolean> {
  const server = createServer().listen(port, '127.0.0.1')
  try {
    await once(server, 'listening')
    return true
  } catch {
    return false
  } finally {
    server.close()
  }
}
