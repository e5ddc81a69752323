// A reporter for `node --test`: how long each file took.
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { root } from '../../tools/paths.mjs'

export default async function* fileTimes(events: AsyncIterable<TestEvent>) {
  for await (const { type, data } of events)
    if (type === 'test:summary' && data.file !== undefined)
      yield `${(data.duration_ms / 1000).toFixed(1).padStart(7)} s  ${relative(root, data.file)}\n`
}
