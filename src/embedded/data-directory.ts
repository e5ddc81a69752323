// The data directory of the embedded stack: everything that it knows and keeps is below it.
import {
  accessSync,
  closeSync,
  constants,
  fsyncSync,
  mkdirSync,
  openSync,
  readFileSync,
  renameSync,
  rmSync,
  statfsSync,
  writeSync,
} from 'node:fs'
import { join, resolve } from 'node:path'
import { StartError } from './start-error.ts'

const leastFreeBytes = 300e6

export type Home = ReturnType<typeof describeHome>

export function describeHome(directory: string) {
  const dir = resolve(directory)
  return {
    dir,
    lock: join(dir, 'anneal.lock'),
    connection: join(dir, 'connection.json'),
    secrets: join(dir, 'secrets.json'),
    ports: join(dir, 'ports.json'),
    children: join(dir, 'children.json'),
    runs: join(dir, 'runs'),
    postgres: join(dir, 'postgres'),
    temporal: join(dir, 'temporal'),
    s3: join(dir, 's3'),
    log: (name: string) => join(dir, 'logs', `${name}.log`),
  }
}

/** Makes the folders. Throws a StartError when they cannot be written, or when hardly any space is left. */
export function prepareHome(home: Home): void {
  try {
    mkdirSync(home.dir, { recursive: true })
    accessSync(home.dir, constants.R_OK | constants.W_OK | constants.X_OK)
    mkdirSync(join(home.dir, 'logs'), { recursive: true, mode: 0o700 })
  } catch (error) {
    throw new StartError(
      `The data directory ${home.dir} cannot be used: ${(error as Error).message}. Make it writable, or choose another folder: --home DIR.`,
    )
  }
  const { bavail, bsize } = statfsSync(home.dir)
  if (bavail * bsize < leastFreeBytes) {
    const freeMb = Math.round((bavail * bsize) / 1e6)
    throw new StartError(`Only ${freeMb} MB are free in ${home.dir}; ${leastFreeBytes / 1e6} MB are needed to start.`)
  }
}

/** Whole or not at all, on the disk when this returns, readable by the owner only. */
export function writePrivately(path: string, value: unknown): void {
  const temporary = `${path}.${process.pid}.tmp`
  const file = openSync(temporary, 'w', 0o600)
  try {
    writeSync(file, JSON.stringify(value, null, 2) + '\n')
    fsyncSync(file)
  } finally {
    closeSync(file)
  }
  renameSync(temporary, path)
}

/** Null when there is no such file. Throws a StartError when it is not JSON: somebody edited it. */
export function readJson<T>(path: string): T | null {
  let text: string
  try {
    text = readFileSync(path, 'utf8')
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === 'ENOENT') return null
    throw new StartError(`${path} cannot be read: ${(error as Error).message}.`)
  }
  try {
    return JSON.parse(text) as T
  } catch {
    throw new StartError(
      `${path} is not valid JSON. Restore this file: without it the data directory cannot be opened.`,
    )
  }
}

export function remove(path: string): void {
  rmSync(path, { force: true })
}
