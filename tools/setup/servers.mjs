// The two servers that no npm or Python package carries: temporal (with its UI) and versitygw (S3).
// Order: a variable, the PATH, the per-user cache, the projects' own releases, a build from source with Go.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { digest, isExecutable, readRecord, root, stepKeys } from '../paths.mjs'
import { cached } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { fetchRelease } from './release.mjs'
import { say, SetupError } from './report.mjs'

const servers = {
  temporal: { version: '1.8.2', variable: 'ANNEAL_TEMPORAL_BIN' },
  versitygw: { version: '1.7.0', variable: 'ANNEAL_VERSITYGW_BIN' },
}
const oldestGo = '1.26.4'

export function serversAreReady() {
  const record = readRecord().servers
  return (
    record?.key === stepKeys().servers &&
    Object.keys(servers).every((name) => isExecutable(fromVariable(name) ?? record[name]))
  )
}

/** @returns {Promise<{key: string, temporal: string, versitygw: string}>} */
export async function setUpServers() {
  const found = { key: stepKeys().servers }
  const missing = Object.keys(servers).filter((name) => !(found[name] = fromVariable(name) ?? fromPath(name)))
  if (missing.length > 0) {
    const dir = await cached('servers', `servers-${digest(stepKeys().servers).slice(0, 16)}`, (target) =>
      obtain(target),
    )
    for (const name of missing) found[name] = join(dir, name)
  }
  return found
}

function fromVariable(name) {
  const { variable } = servers[name]
  const path = process.env[variable]
  if (path && !isExecutable(path)) throw new SetupError(`${variable} names ${path}, which is not an executable file.`)
  return path || undefined
}

function fromPath(name) {
  const path = (process.env.PATH ?? '')
    .split(':')
    .map((dir) => join(dir, name))
    .find(isExecutable)
  if (!path) return undefined
  const wanted = servers[name].version
  if ((firstLine(path, ['--version']) ?? '').split(/[\s:v]+/).includes(wanted)) return path
  say('servers', `${path} is not version ${wanted}; not using it`)
  return undefined
}

/** Both servers, because the entry of the cache is whole or absent. */
async function obtain(target) {
  try {
    for (const [name, { version }] of Object.entries(servers)) await fetchRelease(name, version, target)
  } catch (error) {
    say('servers', `no release can be downloaded here (${error.cause?.code ?? error.message}); building from source`)
    rmSync(target, { recursive: true })
    mkdirSync(target)
    await build(target)
  }
}

async function build(target) {
  const module = join(root, 'tools/go')
  // Inside the module `go version` is the toolchain that would build it: GOTOOLCHAIN=auto fetches a newer one by itself.
  const version = /go(\d+\.\d+(\.\d+)?)/.exec(
    firstLine('go', ['version'], { cwd: module, timeout: 120_000 }) ?? '',
  )?.[1]
  if (!version) throw missingGo()
  const { temporal, versitygw } = servers
  const stamped = `-X github.com/temporalio/cli/internal/temporalcli.Version=${temporal.version} -X main.Version=${versitygw.version}`
  await runCommand('servers', ['go', 'install', '-trimpath', `-ldflags=-s -w ${stamped}`, 'tool'], {
    doing: `building temporal ${temporal.version} and versitygw ${versitygw.version} with Go ${version}: 3 to 10 minutes the first time, 4 GB of Go's caches`,
    cwd: module,
    env: { ...process.env, GOBIN: target, GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' },
    needs: {
      space: '4 GB',
      dir: "Go's caches (go env GOCACHE GOMODCACHE; go clean -cache -modcache frees them afterwards)",
    },
    hint: "Check that Go's module proxy answers (go env GOPROXY), then run this again; what was built is kept.",
  })
  for (const name of Object.keys(servers)) {
    if (!existsSync(join(target, name)))
      throw new SetupError(`go install left no ${name} in ${target}: ${readdirSync(target).join(', ')}`)
  }
}

function missingGo() {
  const own = /go(\d+\.\d+(\.\d+)?)/.exec(firstLine('go', ['version'], { cwd: '/' }) ?? '')?.[1]
  const state = own ? `Go ${own} is too old (and may not fetch a newer one)` : 'Go is missing'
  const variables = Object.values(servers).map(({ variable }) => variable)
  return new SetupError(
    `The servers temporal and versitygw are missing, their releases cannot be downloaded, and ${state}. ` +
      `Install Go ${oldestGo} or later (https://go.dev/dl), or set ${variables.join(' and ')} to binaries of ` +
      `temporal ${servers.temporal.version} and versitygw ${servers.versitygw.version}.`,
  )
}
