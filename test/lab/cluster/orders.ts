// Orders to a running cluster, over its supervisor's socket.
import { request } from 'node:http'
import type { Faults } from './fault-proxy.ts'
import type { Cluster, Machine } from './settings.ts'

export function createControl(cluster: Cluster) {
  const post = (name: string, body: unknown) => order<null>(cluster, `POST /${name}`, body)
  return {
    /** Kills one daemon and keeps it down. */
    stop: (machine: Machine, daemon: string) => post('stop', { machine, daemon }),
    start: (machine: Machine, daemon: string) => post('start', { machine, daemon }),
    /** Ends every process of a node at once, like a loss of power. */
    kill: (machine: Machine) => post('kill', { machine }),
    revive: (machine: Machine) => post('revive', { machine }),
    /** Takes a node's network link down. Its programs run on. */
    cut: (machine: Machine) => post('cut', { machine }),
    join: (machine: Machine) => post('join', { machine }),
    /** Loads an image into the image store of both nodes. */
    importImage: (archive: string) => post('import', { archive }),
    /** Makes 127.0.0.1:PORT reachable for pods, as HOST:PORT. */
    forward: (port: number) => post('forward', { port }),
    /** Replaces the rule of the fault proxy; {} lets all calls pass. */
    setFaults: (faults: Faults) => post('faults', faults),
    /** Counts the calls through the fault proxy since the counts were last cleared, such as {"create jobs": 1}. */
    calls: () => order<Record<string, number>>(cluster, 'GET /calls'),
    forgetCalls: () => post('forget-calls', {}),
  }
}

/** @param name method and path, such as "GET /state" */
export function order<T>({ controlSocket: socketPath }: Cluster, name: string, body?: unknown): Promise<T> {
  const [method, path] = name.split(' ')
  return new Promise((resolve, reject) => {
    const sent = request({ socketPath, method, path }, (response) => {
      let text = ''
      response.on('data', (chunk: Buffer) => (text += chunk.toString()))
      response.on('end', () => {
        if (response.statusCode === 200) resolve(JSON.parse(text) as T)
        else reject(new Error(`${name}: ${JSON.parse(text) as string}`))
      })
    })
    sent.on('error', reject)
    sent.end(body === undefined ? undefined : JSON.stringify(body))
  })
}
