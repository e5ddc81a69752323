// Packs the generated clients with their hand-written parts:   npm run pack:clients [-- URL of an openapi.json]
// A TypeScript package and a Python wheel go to .cache/packages. Without a URL they are made of the routes of this clone.
import { execFileSync } from 'node:child_process'
import { copyFileSync, mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import packageJson from '../package.json' with { type: 'json' }
import { errorFormats, publicRoutes } from '../src/http/app.ts'
import { openApiOf } from '../src/http/anneal/service.ts'
import { root } from './paths.mjs'
import { clientEnv, clientPackages } from './setup/client-env.mjs'
import { findUv } from './setup/uv.mjs'

const { version, license } = packageJson
const target = join(root, '.cache/packages')
const sources = join(root, 'tools/clients')
const description = 'A client of Anneal, made of its OpenAPI document.'

const [url] = process.argv.slice(2)
const folder = mkdtempSync(join(tmpdir(), 'anneal-clients-'))
try {
  const document = join(folder, 'openapi.json')
  writeFileSync(document, url === undefined ? ownDocument() : await (await fetch(url)).text())
  mkdirSync(target, { recursive: true })
  console.log(await packTypeScript(document))
  console.log(await packPython(document))
} finally {
  rmSync(folder, { recursive: true })
}

function ownDocument(): string {
  return JSON.stringify(openApiOf(publicRoutes, { version, serviceName: 'lamini', errorFormats }))
}

/** @returns the path of the package */
async function packTypeScript(document: string): Promise<string> {
  const packages = await clientPackages(join(root, 'test/clients/typescript'))
  const dir = join(folder, 'typescript')
  mkdirSync(dir)
  symlinkSync(join(packages, 'node_modules'), join(dir, 'node_modules'))
  const node = (script: string, ...args: string[]) =>
    execFileSync(process.execPath, [join(packages, 'node_modules', script), ...args], { cwd: dir, stdio: 'pipe' })
  const about = {
    name: 'anneal-client',
    version,
    description,
    license,
    type: 'module',
    exports: { '.': { types: './index.d.ts', default: './index.js' } },
    files: ['index.js', 'index.d.ts', 'schema.d.ts'],
    dependencies: { 'openapi-fetch': '0.17.0' },
  }
  writeFileSync(join(dir, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
  copyFileSync(join(sources, 'typescript/index.ts'), join(dir, 'index.ts'))
  copyFileSync(join(root, 'LICENSE'), join(dir, 'LICENSE'))
  node('openapi-typescript/bin/cli.js', document, '--output', 'schema.d.ts')
  node('typescript/bin/tsc', '--strict', '--declaration', '--module', 'nodenext', '--target', 'es2022', 'index.ts')
  const packed = execFileSync('npm', ['pack', '--json', '--pack-destination', target], { cwd: dir, encoding: 'utf8' })
  const [{ filename }] = JSON.parse(packed) as [{ filename: string }]
  return join(target, filename)
}

/** @returns the path of the wheel */
async function packPython(document: string): Promise<string> {
  const env = await clientEnv(join(root, 'test/clients/requirements-generator.txt'))
  const dir = join(folder, 'python')
  mkdirSync(dir)
  writeFileSync(join(folder, 'settings.yaml'), 'post_hooks: []\n')
  const output = [
    '--meta',
    'none',
    '--config',
    join(folder, 'settings.yaml'),
    '--output-path',
    join(dir, 'anneal_client'),
    // A warning is a route or a schema that it could not make anything of.
    '--fail-on-warning',
  ]
  execFileSync(join(env, 'bin/openapi-python-client'), ['generate', '--path', document, ...output], { stdio: 'pipe' })
  copyFileSync(join(sources, 'python/anneal.py'), join(dir, 'anneal_client/anneal.py'))
  copyFileSync(join(root, 'LICENSE'), join(dir, 'LICENSE'))
  writeFileSync(
    join(dir, 'pyproject.toml'),
    `[project]
name = "anneal-client"
version = "${version}"
description = "${description}"
license = "${license}"
requires-python = ">=3.11"
dependencies = ["attrs>=22.2", "httpx>=0.23,<0.29", "python-dateutil>=2.8"]

[build-system]
requires = ["hatchling==1.27.0"]
build-backend = "hatchling.build"

[tool.hatch.build.targets.wheel]
packages = ["anneal_client"]
`,
  )
  const uv = await findUv('clients')
  execFileSync(uv, ['build', '--quiet', '--wheel', '--out-dir', target], { cwd: dir, stdio: 'pipe' })
  return join(target, `anneal_client-${version}-py3-none-any.whl`)
}
