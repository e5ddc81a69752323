// Bytes that rot where the object store keeps them.
import { closeSync, existsSync, openSync, readdirSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../../../src/embedded/data-directory.ts'
import type { Random } from '../../inference/support/random.ts'

/** Torn: its second half was never written. @returns false where nothing has been stored yet */
export function breakNewestCheckpoint(home: Home, jobId: number, how: 'torn' | 'truncated', random: Random): boolean {
  const newest = newestIn(join(home.s3, 'objects/anneal/jobs', String(jobId), 'artifacts'))
  const files = newest === undefined ? [] : readdirSync(newest).map((name) => join(newest, name))
  if (files.length === 0) return false
  const file = random.pick(files)
  const { size } = statSync(file)
  const half = Math.floor(size / 2)
  if (how === 'truncated') truncateSync(file, half)
  else {
    const descriptor = openSync(file, 'r+')
    writeSync(descriptor, Buffer.alloc(size - half), 0, size - half, half)
    closeSync(descriptor)
  }
  return true
}

const newestIn = (folder: string) =>
  (existsSync(folder) ? readdirSync(folder) : [])
    .map((name) => join(folder, name))
    .toSorted((a, b) => changedMs(b) - changedMs(a))[0]

/** A file that vanishes meanwhile sorts last. */
const changedMs = (path: string) => statSync(path, { throwIfNoEntry: false })?.mtimeMs ?? 0
