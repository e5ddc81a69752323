// The S3 server, versitygw, which no npm or Python package carries.
// Order: a variable, the PATH, the per-user cache, the project's own release, a build from source with Go.
import { existsSync, mkdirSync, readdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { digest, isExecutable, readRecord, root, stepKeys } from '../paths.mjs'
import { cached } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { fetchRelease } from './release.mjs'
import { say, SetupError } from './report.mjs'

const name = 'versitygw'
const version = '1.7.0'
const variable = 'ANNEAL_VERSITYGW_BIN'
const oldestGo = '1.26.4'

export function objectStoreIsReady() {
  const record = readRecord().s3
  return record?.key === stepKeys().s3 && isExecutable(fromVariable() ?? record.versitygw)
}

/** @returns {Promise<{key: string, versitygw: string}>} */
export async function setUpObjectStore() {
  return { key: stepKeys().s3, versitygw: fromVariable() ?? fromPath() ?? (await fromCache()) }
}

function fromVariable() {
  const path = process.env[variable]
  if (path && !isExecutable(path)) throw new SetupError(`${variable} names ${path}, which is not an executable file.`)
  return path || undefined
}

function fromPath() {
  const path = (process.env.PATH ?? '')
    .split(':')
    .map((dir) => join(dir, name))
    .find(isExecutable)
  if (!path) return undefined
  if ((firstLine(path, ['--version']) ?? '').split(/[\s:v]+/).includes(version)) return path
  say('s3', `${path} is not version ${version}; not using it`)
  return undefined
}

async function fromCache() {
  return join(await cached('s3', `${name}-${digest(stepKeys().s3).slice(0, 16)}`, obtain), name)
}

async function obtain(target) {
  try {
    await fetchRelease(version, target)
  } catch (error) {
    say('s3', `no release can be downloaded here (${error.cause?.code ?? error.message}); building from source`)
    rmSync(target, { recursive: true })
    mkdirSync(target)
    await build(target)
  }
}

async function build(target) {
  const module = join(root, 'tools/go')
  // Inside the module `go version` is the toolchain that would build it: GOTOOLCHAIN=auto fetches a newer one by itself.
  const go = /go(\d+\.\d+(\.\d+)?)/.exec(firstLine('go', ['version'], { cwd: module, timeout: 120_000 }) ?? '')?.[1]
  if (!go) throw missingGo()
  await runCommand('s3', ['go', 'install', '-trimpath', `-ldflags=-s -w -X main.Version=${version}`, 'tool'], {
    doing: `building ${name} ${version} with Go ${go}: a minute or two the first time`,
    cwd: module,
    env: { ...process.env, GOBIN: target, GOFLAGS: '-mod=readonly', CGO_ENABLED: '0' },
    needs: {
      space: '1 GB',
      dir: "Go's caches (go env GOCACHE GOMODCACHE; go clean -cache -modcache frees them afterwards)",
    },
    hint: "Check that Go's module proxy answers (go env GOPROXY), then run this again; what was built is kept.",
  })
  if (!existsSync(join(target, name)))
    throw new SetupError(`go install left no ${name} in ${target}: ${readdirSync(target).join(', ')}`)
}

function missingGo() {
  const own = /go(\d+\.\d+(\.\d+)?)/.exec(firstLine('go', ['version'], { cwd: '/' }) ?? '')?.[1]
  const state = own ? `Go ${own} is too old (and may not fetch a newer one)` : 'Go is missing'
  return new SetupError(
    `The S3 server ${name} is missing, its release cannot be downloaded, and ${state}. ` +
      `Install Go ${oldestGo} or later (https://go.dev/dl), or set ${variable} to the binary of ${name} ${version}.`,
  )
}
