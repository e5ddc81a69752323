// A reporter for `node --test`: the five files that took longest.
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { root } from '../../tools/paths.mjs'

const shown = 5

export default async function* slowestFiles(events: AsyncIterable<TestEvent>) {
  const files: { path: string; seconds: number }[] = []
  for await (const { type, data } of events)
    if (type === 'test:summary' && data.file !== undefined)
      files.push({ path: relative(root, data.file), seconds: data.duration_ms / 1000 })
  const slowest = files.toSorted((a, b) => b.seconds - a.seconds).slice(0, shown)
  yield 'slowest files\n'
  for (const { path, seconds } of slowest) yield `${seconds.toFixed(1).padStart(7)} s  ${path}\n`
}
