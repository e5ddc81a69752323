import { loadSecrets } from './secrets.ts'
import { readConnection } from './connection.ts'
import type { Home } from './data-directory.ts'
import { bucket, environment, serviceDefaults } from './services.ts'

/** The environment of this process. Where it names no database, that of the service that runs on the data directory. */
export function runningEnvironment(home: Home): NodeJS.ProcessEnv {
  const own = environment()
  const at = own['DATABASE_URL'] === undefined ? readConnection(home) : null
  if (!at) return own
  return {
    ...serviceDefaults,
    ...own,
    DATABASE_URL: at.databaseUrl,
    ANNEAL_DATABASE_SESSION_URL: undefined,
    TEMPORAL_ADDRESS: at.temporalAddress,
    TEMPORAL_NAMESPACE: 'default',
    S3_ENDPOINT: at.s3.endpoint,
    S3_BUCKET: bucket,
    S3_ACCESS_KEY: at.s3.accessKey,
    S3_SECRET_KEY: at.s3.secretKey,
    ANNEAL_INTERNAL_URL: at.internalUrl,
    ANNEAL_SECRET: loadSecrets(home).signingSecret,
  }
}
