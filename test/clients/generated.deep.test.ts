// Clients are generated, not written: a well-kept generator makes one of our OpenAPI document, and it runs the main job.
import { execFile } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { clientEnv } from '../../tools/setup/client-env.mjs'
import { connection, openAccount } from '../support/stack.ts'
import { patienceMs } from '../support/eventually.ts'

const run = promisify(execFile)

test('a generated Python client has every route and runs the main job', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-generated-'))
  const { apiKey } = await openAccount()
  const { apiUrl, baseModel } = connection()
  try {
    const env = await clientEnv(join(root, 'test/clients/requirements-generator.txt'))
    const settings = join(folder, 'settings.yaml')
    writeFileSync(settings, 'post_hooks: []\n')
    const source = ['--url', `${apiUrl}/openapi.json`, '--meta', 'none', '--config', settings]
    const output = ['--output-path', join(folder, 'anneal_client')]
    // A warning is a route or a schema that it could not make anything of.
    await run(join(env, 'bin/openapi-python-client'), ['generate', ...source, ...output, '--fail-on-warning'])
    await run(join(env, 'bin/python'), [join(root, 'test/clients/generated_client.py'), folder], {
      env: {
        PATH: process.env['PATH'],
        ANNEAL_URL: apiUrl,
        ANNEAL_API_KEY: apiKey,
        BASE_MODEL: baseModel,
        SAMPLE_FILE: join(root, 'models/samples/products.jsonl'),
      },
      timeout: patienceMs,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
})
