// Clients are generated, not written: well-kept generators make one of our OpenAPI document, and it runs the main job.
import { execFile } from 'node:child_process'
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { clientEnv } from '../../tools/setup/client-env.mjs'
import { findGo } from '../../tools/setup/go.mjs'
import { patienceMs } from '../support/eventually.ts'
import { connection, openAccount } from '../support/stack.ts'

const run = promisify(execFile)
const here = join(root, 'test/clients')

suite('a generated client', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-generated-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const { apiUrl, baseModel } = connection()

  /** What each program reads. */
  const settings = async () => ({
    PATH: process.env['PATH'],
    ANNEAL_URL: apiUrl,
    ANNEAL_API_KEY: (await openAccount()).apiKey,
    BASE_MODEL: baseModel,
    SAMPLE_FILE: join(root, 'models/samples/products.jsonl'),
  })

  test('by openapi-generator runs the main job in Python, and compiles in TypeScript', async () => {
    const env = await clientEnv(join(here, 'requirements-openapi-generator.txt'))
    const document = join(folder, 'openapi-3.0.json')
    writeFileSync(document, await (await fetch(`${apiUrl}/openapi.json?version=3.0`)).text())
    for (const generator of ['python', 'typescript-fetch'])
      await run(
        join(env, 'bin/openapi-generator-cli'),
        ['generate', '-i', document, '-g', generator, '-o', join(folder, generator)],
        { maxBuffer: 1e8 },
      )
    await run(join(env, 'bin/python'), [join(here, 'openapi_generator.py'), join(folder, 'python')], {
      env: await settings(),
      timeout: patienceMs,
    })
    const strict = ['--noEmit', '--strict', '--skipLibCheck', '--target', 'es2022', '--module', 'preserve']
    await run(join(root, 'node_modules/.bin/tsc'), [...strict, 'index.ts'], { cwd: join(folder, 'typescript-fetch') })
  })

  test('by oapi-codegen runs the main job in Go', async () => {
    const program = join(folder, 'go')
    cpSync(join(here, 'go'), program, { recursive: true })
    mkdirSync(join(program, 'anneal'))
    const go = await findGo(join(folder, 'go-compiler'))
    const env = { ...process.env, ...go.env, ...(await settings()), GOFLAGS: '-mod=readonly' }
    const options = { cwd: program, env, timeout: patienceMs }
    const document = join(program, 'openapi-3.0.json')
    writeFileSync(document, await (await fetch(`${apiUrl}/openapi.json?version=3.0`)).text())
    const generate = ['-generate', 'types,client', '-package', 'anneal', '-o', 'anneal/anneal.gen.go', document]
    await run(go.command, ['tool', 'oapi-codegen', ...generate], options)
    await run(go.command, ['run', '.'], options)
  })
})
