// Bytes that rot where the object store keeps them.
import { closeSync, openSync, readdirSync, statSync, truncateSync, writeSync } from 'node:fs'
import { join } from 'node:path'
import type { Home } from '../../src/embedded/home.ts'
import type { Random } from '../inference/support/random.ts'

/** Torn: its second half was never written. */
export function breakNewestCheckpoint(home: Home, jobId: number, how: 'torn' | 'truncated', random: Random) {
  const artifacts = join(home.s3, 'objects/anneal/jobs', String(jobId), 'artifacts')
  const newest = readdirSync(artifacts)
    .map((name) => join(artifacts, name))
    .toSorted((a, b) => statSync(b).mtimeMs - statSync(a).mtimeMs)[0]
  const files = newest === undefined ? [] : readdirSync(newest).map((name) => join(newest, name))
  if (files.length === 0) return
  const file = random.pick(files)
  const { size } = statSync(file)
  const half = Math.floor(size / 2)
  if (how === 'truncated') return truncateSync(file, half)
  const descriptor = openSync(file, 'r+')
  writeSync(descriptor, Buffer.alloc(size - half), 0, size - half, half)
  closeSync(descriptor)
}
