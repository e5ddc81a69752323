import { randomBytes } from 'node:crypto'
import { readJson, writePrivately, type Home } from './data-directory.ts'

export type Secrets = {
  databasePassword: string
  s3AccessKey: string
  s3SecretKey: string
  /** Signs the tokens of attempts and model servers. */
  signingSecret: string
  /** The first account's key. The api stores its hash at start. */
  apiKey: string
}

/** Made at the first start and kept, because the databases were created with them. */
export function loadSecrets(home: Home): Secrets {
  const kept = readJson<Secrets>(home.secrets)
  if (kept) return kept
  const secrets = {
    databasePassword: randomBytes(24).toString('hex'),
    s3AccessKey: randomBytes(10).toString('hex'),
    s3SecretKey: randomBytes(24).toString('hex'),
    signingSecret: randomBytes(32).toString('hex'),
    apiKey: `ank_${randomBytes(8).toString('hex')}_${randomBytes(32).toString('base64url')}`,
  }
  writePrivately(home.secrets, secrets)
  return secrets
}
