// A reporter for `node --test --watch`: the files that ran, each failure, and a line when nothing is left to run.
import { relative } from 'node:path'
import type { TestEvent } from 'node:test/reporters'
import { root } from '../../tools/paths.mjs'

export default async function* watchReport(events: AsyncIterable<TestEvent>) {
  let startedAt: number | null = null
  let count = 0
  let failed = 0
  for await (const { type, data } of events) {
    if (type === 'test:start') startedAt ??= performance.now()
    if (type === 'test:fail' && !isOfSubtests(data.details.error))
      yield `✖ ${data.name}\n  ${String(data.details.error.cause ?? data.details.error)}\n`
    if (type === 'test:summary' && data.file !== undefined) {
      count++
      if (!data.success) failed++
      yield `${data.success ? '✔' : '✖'} ${(data.duration_ms / 1000).toFixed(1).padStart(5)} s  ${relative(root, data.file)}\n`
    }
    if (type === 'test:watch:drained' && startedAt !== null) {
      const seconds = ((performance.now() - startedAt) / 1000).toFixed(1)
      yield `${count} files in ${seconds} s, ${failed} red; waiting for a change (Ctrl-C ends it)\n`
      ;[startedAt, count, failed] = [null, 0, 0]
    }
  }
}

/** A suite fails with its tests, which are reported on their own. */
const isOfSubtests = (error: Error) => 'failureType' in error && error.failureType === 'subtestsFailed'
