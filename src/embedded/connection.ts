// HOME/connection.json: everything a client needs, there only while the stack is ready.
import { operatorToken } from '../domain/identifiers.ts'
import type { ProcessName } from './child.ts'
import { readJson, remove, writePrivately, type Home } from './data-directory.ts'
import type { Secrets } from './secrets.ts'
import { bucket, type Addresses } from './services.ts'

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

export function writeConnection(
  home: Home,
  at: Addresses,
  secrets: Secrets,
  baseModel: string,
  processes: Connection['processes'],
): void {
  const { apiUrl, internalUrl, adminUrl, temporalAddress, temporalUiUrl, databaseUrl, s3Endpoint } = at
  const s3 = { endpoint: s3Endpoint, bucket, accessKey: secrets.s3AccessKey, secretKey: secrets.s3SecretKey }
  const { apiKey, signingSecret } = secrets
  const connection = {
    apiUrl,
    internalUrl,
    adminUrl,
    apiKey,
    operatorToken: operatorToken(signingSecret),
    baseModel,
    temporalAddress,
    temporalUiUrl,
    databaseUrl,
    s3,
    processes,
  }
  writePrivately(home.connection, connection satisfies Connection)
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
