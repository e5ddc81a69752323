// HOME/connection.json: everything a client needs, there only while the stack is ready.
import type { ProcessName } from './process-names.ts'
import { readJson, remove, type Home } from './data-directory.ts'

export type Connection = {
  apiUrl: string
  internalUrl: string
  adminUrl: string
  apiKey: string
  /** For the admin routes, at `adminUrl`. */
  operatorToken: string
  baseModel: string
  temporalAddress: string
  temporalUiUrl: string
  databaseUrl: string
  s3: { endpoint: string; bucket: string; accessKey: string; secretKey: string }
  /** Pids. A process that is being restarted is left out: a script that signals pid 0 would end its own group. */
  processes: Partial<Record<ProcessName, number>>
}

export function readConnection(home: Home): Connection | null {
  return readJson<Connection>(home.connection)
}

/** @throws Error while the process is being restarted */
export function processId({ processes }: Pick<Connection, 'processes'>, name: ProcessName): number {
  const pid = processes[name]
  if (pid === undefined) throw new Error(`${name} is being restarted`)
  return pid
}

export function removeConnection(home: Home): void {
  remove(home.connection)
}
