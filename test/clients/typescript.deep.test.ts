// The TypeScript program of docs/api-guide.md: a well-kept generator makes the types of our OpenAPI document, today's and
// yesterday's compilers take the program, and it runs the main job.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { clientPackages } from '../../tools/setup/client-env.mjs'
import { connection, openAccount } from '../support/stack.ts'
import { patienceMs } from '../support/eventually.ts'

const run = promisify(execFile)
const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'esnext', '--allowImportingTsExtensions']

suite('a generated TypeScript client', async () => {
  const packages = await clientPackages(join(root, 'test/clients/typescript'))
  const folder = mkdtempSync(join(tmpdir(), 'anneal-typescript-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const program = join(folder, 'program.ts')
  const guide = readFileSync(join(root, 'docs/api-guide.md'), 'utf8')
  const [, text] = /^```ts\n(.*?)^```$/ms.exec(guide) ?? assert.fail('the guide has no program')
  writeFileSync(program, text ?? '')
  writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
  symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules'))
  const node = (script: string, ...more: string[]) => run(process.execPath, [script, ...more], { cwd: folder })

  test('is made of the document, every route and type of it', async () => {
    const generator = join(packages, 'node_modules/openapi-typescript/bin/cli.js')
    await node(generator, `${connection().apiUrl}/openapi.json`, '--output', join(folder, 'anneal.d.ts'))
    const types = readFileSync(join(folder, 'anneal.d.ts'), 'utf8')
    const { paths } = (await (await fetch(`${connection().apiUrl}/openapi.json`)).json()) as { paths: object }
    assert.deepEqual(
      Object.keys(paths).filter((path) => !types.includes(`"${path}": {`)),
      [],
    )
  })

  for (const [version, compiler] of [
    ['7', join(root, 'node_modules/typescript')],
    ['5', join(packages, 'node_modules/typescript')],
  ] as const)
    test(`compiles with TypeScript ${version}`, async () => {
      const { version: found } = JSON.parse(readFileSync(join(compiler, 'package.json'), 'utf8')) as { version: string }
      assert.match(found, new RegExp(`^${version}\\.`))
      const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
      await node(join(compiler, 'bin/tsc'), ...strict, ...types, program)
    })

  test('runs the main job', async () => {
    const { apiKey } = await openAccount()
    const { stdout } = await run(process.execPath, [program], {
      cwd: root,
      env: { PATH: process.env['PATH'], ANNEAL_URL: connection().apiUrl, ANNEAL_API_KEY: apiKey },
      timeout: patienceMs,
    })
    assert.match(stdout, /status: 'COMPLETED',\s+evaluated: 10,\s+answer: \{\s+name: .*,\s+age: -?\d+\s/s)
  })
})
