// Apart from connection.ts, which the command line loads for each command.
import { operatorToken } from '../domain/identifiers.ts'
import type { Connection } from './connection.ts'
import { writePrivately, type Home } from './data-directory.ts'
import type { Secrets } from './secrets.ts'
import { bucket, type Addresses } from './services.ts'

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
