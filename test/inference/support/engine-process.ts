// A real model server, started as a pod is, with an internal API that only takes its report.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { root, toolPath } from '../../../tools/paths.mjs'
import { threadVariables } from '../../../src/compute/thread-variables.ts'
import type { CatalogueEntry } from '../../../src/domain/catalogue.ts'
import { serviceDefaults } from '../../../src/embedded/services.ts'
import { tokenOf, type FakeServers } from './fake-servers.ts'

export type EngineProcess = {
  stop: (signal?: NodeJS.Signals) => Promise<void>
  endpoint: string
  /** Its exit code; null after a signal. */
  ended: Promise<number | null>
}

/** Resolves once it is ready and its row says so. */
export async function startEngine(
  entry: CatalogueEntry,
  servers: FakeServers,
  generation = 1,
  environment: Record<string, string> = {},
): Promise<EngineProcess> {
  const workDir = mkdtempSync(join(tmpdir(), 'anneal-engine-'))
  const { promise: ready, resolve, reject } = Promise.withResolvers<string>()
  const internalApi = createServer((request, response) => {
    void json(request).then((body) => {
      response.setHeader('content-type', 'application/json').end('{}')
      resolve((body as { endpoint: string }).endpoint)
    })
  }).listen(0, '127.0.0.1')
  await once(internalApi, 'listening')
  const { name, engine, source, dtype, contextLength, maxBatch, maxAdapters } = entry
  const child = spawn(process.env['ANNEAL_PYTHON'] ?? toolPath('python'), ['-m', 'anneal_runtime.server'], {
    cwd: workDir,
    env: {
      PATH: process.env['PATH'],
      PYTHONPATH: join(root, 'runtime'),
      PYTHONSAFEPATH: '1',
      PYTHONUNBUFFERED: '1',
      OMP_NUM_THREADS: '1',
      ...threadVariables,
      ANNEAL_INTERNAL_URL: `http://127.0.0.1:${(internalApi.address() as AddressInfo).port}/internal/v1`,
      ANNEAL_TOKEN: tokenOf(name, generation),
      ANNEAL_MODELS_DIR: root,
      ANNEAL_LLAMA_CPP: serviceDefaults.ANNEAL_LLAMA_CPP,
      ANNEAL_WORK_DIR: workDir,
      ANNEAL_SERVER_SPEC: JSON.stringify({
        name,
        engine,
        source,
        dtype,
        context_length: contextLength,
        max_batch: maxBatch,
        max_adapters: maxAdapters,
      }),
      ...environment,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
  })
  process.once('exit', () => child.kill('SIGKILL'))
  let log = ''
  for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk: Buffer) => (log += chunk.toString()))
  const ended = once(child, 'exit').then(([code]) => code as number | null)
  void ended.then((code) => reject(new Error(`the model server ended with ${code}:\n${log}`)))
  const endpoint = await ready
  servers.set({ baseModel: name, generation, state: 'ready', endpoint })
  return {
    endpoint,
    ended,
    async stop(signal = 'SIGTERM') {
      child.kill(signal)
      await ended
      internalApi.close()
      internalApi.closeAllConnections()
      rmSync(workDir, { recursive: true, force: true })
    },
  }
}
