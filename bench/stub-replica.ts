// Puts a stub engine in the place of a stack's only model server.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { modelServerRunName } from '../src/domain/identifiers.ts'
import { modelServerToken } from '../src/domain/model-server-token.ts'
import type { Connection } from '../src/embedded/connection.ts'
import { root } from '../tools/paths.mjs'
import type { StubUrls } from './stub-engine.ts'

type StubReplica = {
  urls: StubUrls
  /** The real engine, and a token for it. */
  engine: { url: string; token: string }
  /** Stops the real engine and sends its requests to the stub. */
  replace: () => Promise<void>
  /** Lets the real engine go on, so that the stack can stop it. */
  end: () => Promise<void>
}

/** The default model must have answered once. */
export async function startStubReplica(home: string, { databaseUrl, baseModel }: Connection): Promise<StubReplica> {
  const database = new pg.Client({ connectionString: databaseUrl })
  await database.connect()
  const { rows } = await database.query<{ generation: number; url: string }>(
    'select generation, url from model_server_endpoints where base_model = $1',
    [baseModel],
  )
  const engine = rows[0]
  if (!engine) throw new Error('no model server is ready')
  const { signingSecret } = JSON.parse(readFileSync(join(home, 'secrets.json'), 'utf8')) as { signingSecret: string }
  const child = fork(join(root, 'bench/stub-engine.ts'), [engine.url])
  const [urls] = (await once(child, 'message')) as [StubUrls]
  const pid = Number(readFileSync(join(home, 'runs', modelServerRunName(baseModel, engine.generation), 'pid'), 'utf8'))
  let isReplaced = false
  const goOn = () => isReplaced && process.kill(-pid, 'SIGCONT')
  process.once('exit', goOn)
  return {
    urls,
    engine: { url: engine.url, token: modelServerToken(signingSecret, baseModel, engine.generation) },
    async replace() {
      // The real engine must not report meanwhile.
      process.kill(-pid, 'SIGSTOP')
      isReplaced = true
      await database.query('update model_server_endpoints set url = $2, seen_at = now() where base_model = $1', [
        baseModel,
        urls.stub,
      ])
      await database.query(`select pg_notify('model_servers', '')`)
    },
    async end() {
      goOn()
      process.off('exit', goOn)
      child.disconnect()
      await database.end()
    },
  }
}
