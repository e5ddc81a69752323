// versitygw: S3 over plain files.
import { mkdirSync } from 'node:fs'
import { join } from 'node:path'
import { toolPath } from '../../tools/paths.mjs'
import { answers200 } from './http-probe.ts'
import type { ChildSpec } from './child.ts'
import type { Home } from './data-directory.ts'
import type { Secrets } from './secrets.ts'

type ObjectStore = Pick<ChildSpec, 'command' | 'args' | 'env' | 'answers'> & { endpoint: string }

export function prepareObjectStore(home: Home, port: number, secrets: Secrets, env: NodeJS.ProcessEnv): ObjectStore {
  // The folder of the metadata must not share a name prefix with the objects': the server compares prefixes.
  const objects = join(home.s3, 'objects')
  const metadata = join(home.s3, 'metadata')
  for (const dir of [objects, metadata]) mkdirSync(dir, { recursive: true, mode: 0o700 })
  const address = `127.0.0.1:${port}`
  return {
    command: toolPath('versitygw'),
    args: ['--port', address, '--health', '/health', '--quiet', 'posix', '--sidecar', metadata, objects],
    // Not as arguments, which every user of the machine can read.
    env: { ...env, ROOT_ACCESS_KEY: secrets.s3AccessKey, ROOT_SECRET_KEY: secrets.s3SecretKey },
    endpoint: `http://${address}`,
    answers: () => answers200(`http://${address}/health`),
  }
}
