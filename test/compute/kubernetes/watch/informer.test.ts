import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { runInformer } from '../../../../src/compute/kubernetes/watch/informer.ts'

test('an unanswered watch is reported as trouble and reopened after a new list', async () => {
  const stopping = new AbortController()
  const troubles: (string | null)[] = []
  let lists = 0
  let opened = 0
  await runInformer({
    api: {
      list: async () => {
        lists++
        return { items: [], version: String(lists) }
      },
      // As where a proxy takes the request and says nothing; the fifth time somebody is there.
      watch: (_collection, _range, signal) => {
        if (++opened > 4) return Promise.resolve(Readable.from([]))
        return new Promise<never>((_resolve, reject) => {
          signal.addEventListener('abort', () => reject(signal.reason as Error))
        })
      },
    } as Parameters<typeof runInformer>[0]['api'],
    collection: { path: '/pods' },
    onObject: () => undefined,
    onGone: () => undefined,
    onTrouble(message) {
      troubles.push(message)
      if (message === null) stopping.abort()
    },
    signal: stopping.signal,
    maxOpeningMs: 5,
  })
  assert.deepEqual(troubles, ['The Kubernetes API server did not start the watch in time.', null])
  assert.equal(lists, 2)
})
