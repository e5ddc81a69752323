import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { createAdmissionCheck } from '../../../src/compute/kubernetes/pods/admission-check.ts'
import { ApiError } from '../../../src/compute/kubernetes/api/api-error.ts'
import { createLaunchTombstones } from '../../../src/compute/kubernetes/trainers/launch-tombstones.ts'
import { collectLog } from '../../../src/compute/kubernetes/pods/log-collector.ts'
import { mergeTemplate } from '../../../src/compute/kubernetes/pods/merge-template.ts'
import { rankWorkloads } from '../../../src/compute/kubernetes/trainers/queue-ranking.ts'
import { createRateLimiter } from '../../../src/compute/kubernetes/api/rate-limiter.ts'
import { condition, someWorkload } from './support/snapshots.ts'

test('templates are laid over each other item by item', () => {
  const base = {
    containers: [{ name: 'trainer', image: 'a', env: [{ name: 'A', value: '1' }] }],
    tolerations: [{ key: 'a' }],
    volumes: [{ name: 'work', emptyDir: {} }],
    args: ['x'],
    hostNetwork: true,
  }
  const over = {
    containers: [
      {
        name: 'trainer',
        env: [
          { name: 'A', valueFrom: {} },
          { name: 'B', value: '2' },
        ],
      },
      { name: 'agent', image: 'b' },
    ],
    tolerations: [{ key: 'b' }],
    volumes: [{ name: 'work', persistentVolumeClaim: { claimName: 'w' } }],
    args: ['y'],
    hostNetwork: null,
  }
  assert.deepEqual(mergeTemplate(base, over), {
    containers: [
      {
        name: 'trainer',
        image: 'a',
        env: [
          { name: 'A', valueFrom: {} },
          { name: 'B', value: '2' },
        ],
      },
      { name: 'agent', image: 'b' },
    ],
    tolerations: [{ key: 'a' }, { key: 'b' }],
    volumes: [{ name: 'work', persistentVolumeClaim: { claimName: 'w' } }],
    args: ['y'],
  })
})

test('calls beyond the burst are paced, and a quiet time gives the burst back', async () => {
  let now = 0
  const over = new AbortController()
  // A wait is longer than the test.
  const limiter = createRateLimiter({ perSecond: 0.0001, burst: 3, now: () => now })
  const free = async () => {
    const taken = limiter.take(over.signal).then(
      () => 'free',
      () => 'aborted',
    )
    return Promise.race([taken, new Promise((resolve) => setImmediate(() => resolve('waits')))])
  }
  assert.deepEqual([await free(), await free(), await free(), await free()], ['free', 'free', 'free', 'waits'])
  now = 1e8
  assert.deepEqual([await free(), await free(), await free(), await free()], ['free', 'free', 'free', 'waits'])
  over.abort()
})

test('a place in the queue is by priority, then age, among those that wait', () => {
  const places = rankWorkloads([
    someWorkload({ jobUid: 'old', createdAtMs: 1 }),
    someWorkload({ jobUid: 'new', createdAtMs: 3 }),
    someWorkload({ jobUid: 'urgent', createdAtMs: 2, priority: 10 }),
    someWorkload({ jobUid: 'admitted', conditions: [condition('QuotaReserved')] }),
    someWorkload({ jobUid: 'elsewhere', queue: 'other' }),
  ])
  const positions = ['urgent', 'old', 'new', 'elsewhere', 'admitted'].map((uid) => places.get(uid)?.position)
  assert.deepEqual(positions, [1, 2, 3, 1, undefined])
  assert.equal(places.get('old')?.waiting, 3)
})

test('a log is cut as it passes: its tail, or a part from within', async () => {
  const log = () => Readable.from(['één\n', 'twee\n', 'drie\n'].map((line) => Buffer.from(line)))
  const slice = async (range: { offsetBytes?: number; limitBytes?: number }) => {
    const { done, read } = collectLog(log(), range)
    await done
    return read()
  }
  assert.deepEqual(await slice({}), { text: 'één\ntwee\ndrie\n', nextOffsetBytes: 16, sizeBytes: 16 })
  assert.deepEqual(await slice({ offsetBytes: -7 }), { text: 'e\ndrie\n', nextOffsetBytes: 16, sizeBytes: 16 })
  assert.deepEqual(await slice({ offsetBytes: -13 }), {
    text: 'n\ntwee\ndrie\n'.slice(0),
    nextOffsetBytes: 16,
    sizeBytes: 16,
  })
  assert.deepEqual(await slice({ offsetBytes: 6, limitBytes: 5 }), {
    text: 'twee\n',
    nextOffsetBytes: 11,
    sizeBytes: 16,
  })
  // The second é is not cut in two.
  assert.deepEqual(await slice({ offsetBytes: 0, limitBytes: 3 }), { text: 'é', nextOffsetBytes: 2, sizeBytes: 16 })
  assert.deepEqual(await slice({ offsetBytes: 99 }), { text: '', nextOffsetBytes: 16, sizeBytes: 16 })
})

const refusal = (status: number, message: string) => new ApiError(status, JSON.stringify({ message }), undefined)
const somePodTemplate = { metadata: {}, spec: { containers: [{ name: 'trainer' }] } }

test('a pod that the cluster would never admit is refused before it is made, and asked about once', async () => {
  const asked: unknown[] = []
  const check = createAdmissionCheck({ tryPod: async (template) => void asked.push(template) })
  await check(somePodTemplate)
  await check({ ...somePodTemplate, metadata: { labels: { job: '8' } } })
  assert.equal(asked.length, 1)

  const answers = (error: Error) => createAdmissionCheck({ tryPod: () => Promise.reject(error) })(somePodTemplate)
  await assert.rejects(
    answers(refusal(403, 'pods "anneal-check-x7" is forbidden: violates PodSecurity "restricted:latest"')),
    {
      code: 'invalid',
      message:
        'The cluster would refuse the run\'s pod: the pod is forbidden: violates PodSecurity "restricted:latest"',
    },
  )
  await assert.rejects(answers(refusal(403, 'User "w" cannot create resource "pods"')), { code: 'unavailable' })
  await answers(refusal(403, 'pods "x" is forbidden: exceeded quota: small'))
})

test('does not launch a run that was ended before its launch', async () => {
  let nowMs = 0
  const tombstones = createLaunchTombstones(() => nowMs)
  const ended: string[] = []
  const launch = () =>
    tombstones.launch(
      'ft-1-a1',
      async () => ({ uid: 'u' }),
      async (uid) => ended.push(uid),
    )
  const gone = { end: { state: 'gone' as const }, logTail: null }
  const underWay = tombstones.launch(
    'ft-1-a1',
    async () => {
      await tombstones.terminate({ name: 'ft-1-a1' }, async () => gone)
      return { uid: 'u' }
    },
    async (uid) => ended.push(uid),
  )
  await assert.rejects(underWay, { code: 'invalid' })
  assert.deepEqual(ended, ['u'])
  await assert.rejects(launch(), { code: 'invalid' })
  nowMs = 60 * 60_000
  assert.deepEqual(await launch(), { uid: 'u' })
  await tombstones.terminate({ name: 'ft-1-a1', uid: 'u' }, async () => gone)
  assert.deepEqual(await launch(), { uid: 'u' })
})
