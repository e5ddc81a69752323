import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import type { KubernetesObject } from '../../../../src/compute/kubernetes/api/kubernetes-object.ts'
import { readOwner } from '../../../../src/compute/kubernetes/pods/observed-pod.ts'
import { readReplica } from '../../../../src/compute/kubernetes/model-servers/snapshot.ts'
import { readModelServerState } from '../../../../src/compute/kubernetes/model-servers/state.ts'

const nowMs = Date.parse('2026-11-21T12:00:00Z')
const limits = { nowMs, imageTimeoutMs: 600_000, nodeLostAfterMs: 10_000 }
const labels = { 'app.kubernetes.io/component': 'model-server', 'anneal.dev/run': 'model-server-tiny' }

const deployment = (more: object = {}, status: object = {}): KubernetesObject => ({
  metadata: { name: 'model-server-tiny', uid: 'd', labels, ...more },
  status,
})
const placed = [{ type: 'PodScheduled', status: 'True' }]
const pod = (name: string, status: object, more: object = {}): KubernetesObject => ({
  metadata: { name, uid: `uid of ${name}`, labels, creationTimestamp: '2026-11-21T11:59:00Z', ...more },
  status: { phase: 'Running', conditions: placed, startTime: '2026-11-21T11:59:01Z', ...status },
})
const running = { running: { startedAt: '2026-11-21T11:59:30Z' } }
const ended = (exitCode: number, more: object = {}) => ({
  terminated: { exitCode, reason: 'Error', finishedAt: '2026-11-21T11:59:50Z', ...more },
})
const backOff = { waiting: { reason: 'CrashLoopBackOff', message: 'back-off 20s restarting failed container' } }
const container = (state: object, restartCount = 0, lastState: object = {}) => ({
  containerStatuses: [{ name: 'model-server', state, restartCount, lastState }],
})

const stateOf = (raw: KubernetesObject | null, ...pods: KubernetesObject[]) =>
  readModelServerState({ deployment: raw && readOwner(raw), replicas: pods.map(readReplica) }, limits)

describe('the state of a model server', () => {
  it('is running while one replica runs, and names those that do', () => {
    assert.deepEqual(
      stateOf(
        deployment(),
        pod('b', container(running)),
        pod('a', container(running, 4, ended(137))),
        pod('c', container(backOff, 7, ended(1))),
        pod('d', { phase: 'Pending', conditions: [] }),
      ),
      { state: 'running', uid: 'd', instances: ['a', 'b'] },
    )
  })

  it('leaves out ending and ended replicas', () => {
    const leaving = { deletionTimestamp: '2026-11-21T12:00:20Z' }
    assert.deepEqual(
      stateOf(
        deployment(),
        pod('a', container(running)),
        pod('drained', container(running), leaving),
        pod('evicted', { phase: 'Failed', reason: 'Evicted' }),
      ),
      { state: 'running', uid: 'd', instances: ['a'] },
    )
  })

  it('lets the cluster mend the first two crashes', () => {
    for (const status of [container(ended(1)), container(backOff, 1, ended(1))])
      assert.deepEqual(stateOf(deployment(), pod('a', status)), { state: 'running', uid: 'd', instances: [] })
  })

  it('has failed when every replica crashes again and again, by how the last one ended', () => {
    const state = stateOf(
      deployment(),
      pod('a', container(backOff, 2, ended(70))),
      pod('b', container(backOff, 5, ended(139, { finishedAt: '2026-11-21T11:59:55Z' }))),
    )
    assert.deepEqual(state, {
      state: 'failed',
      uid: 'd',
      exitCode: 139,
      signal: 'SIGSEGV',
      reason: 'killed',
      message: 'The program was ended by SIGSEGV.',
    })
    assert.deepEqual(stateOf(deployment(), pod('a', container(ended(70), 2))), {
      state: 'failed',
      uid: 'd',
      exitCode: 70,
      signal: null,
      reason: 'exited',
      message: 'The program ended with exit code 70.',
    })
  })

  it('has not failed while another one may come up', () => {
    const state = stateOf(
      deployment(),
      pod('a', container(backOff, 5, ended(70))),
      pod('b', { phase: 'Pending', conditions: [] }),
    )
    assert.equal(state.state, 'running')
  })

  it('has failed at the first end for a reason that lasts: no weights, another version, fenced', () => {
    for (const exitCode of [69, 77, 78]) {
      const state = stateOf(deployment(), pod('a', container(ended(exitCode))))
      assert.ok(state.state === 'failed' && state.exitCode === exitCode)
    }
  })

  it('is not running while the engine beside its program is down, and fails when that cannot live', () => {
    const both = (engine: object) => {
      const agent = { name: 'model-server', state: running, restartCount: 0 }
      return pod('a', { containerStatuses: [agent, { name: 'vllm', ...engine }] })
    }
    const up = stateOf(deployment(), both({ state: running, restartCount: 5, lastState: ended(1) }))
    assert.deepEqual(up, { state: 'running', uid: 'd', instances: ['a'] })
    const down = stateOf(deployment(), both({ state: backOff, restartCount: 1, lastState: ended(1) }))
    assert.deepEqual(down, { state: 'running', uid: 'd', instances: [] })
    const over = stateOf(deployment(), both({ state: backOff, restartCount: 2, lastState: ended(1) }))
    assert.ok(over.state === 'failed' && over.exitCode === 1)
    assert.equal(readReplica(both({ state: backOff, lastState: ended(1) })).container, 'vllm')
  })

  it('names memory as the reason when the kernel ended the server', () => {
    const state = stateOf(deployment(), pod('a', container(backOff, 2, ended(137, { reason: 'OOMKilled' }))))
    assert.ok(state.state === 'failed')
    assert.equal(state.reason, 'out_of_memory')
    assert.match(state.message, /more memory than its limit/)
  })

  it('says what a start waits for: room, image, quota, weights', () => {
    const unplaced = [
      {
        type: 'PodScheduled',
        status: 'False',
        reason: 'Unschedulable',
        message: '0/2 nodes: 2 Insufficient nvidia.com/gpu.',
      },
    ]
    const noRoom = stateOf(deployment(), pod('a', { phase: 'Pending', conditions: unplaced }))
    assert.ok(noRoom.state === 'pending')
    assert.equal(noRoom.reason, 'unschedulable')
    assert.match(noRoom.message, /nvidia.com\/gpu/)

    const noImage = { waiting: { reason: 'ImagePullBackOff', message: 'Back-off pulling image "none:1"' } }
    const image = stateOf(deployment(), pod('a', { phase: 'Pending', ...container(noImage) }))
    assert.ok(image.state === 'pending' && image.reason === 'image_unavailable' && image.message.includes('none:1'))

    const refused = [
      { type: 'ReplicaFailure', status: 'True', reason: 'FailedCreate', message: 'exceeded quota: small' },
    ]
    const quota = stateOf(deployment({}, { conditions: refused }))
    assert.ok(quota.state === 'pending' && quota.reason === 'quota_exceeded' && quota.message.includes('small'))

    const noVolume = { waiting: { reason: 'CreateContainerConfigError', message: 'secret "x" not found' } }
    const waiting = stateOf(deployment(), pod('a', { phase: 'Pending', ...container(noVolume) }))
    assert.ok(waiting.state === 'pending' && waiting.message.includes('secret "x" not found'))
    assert.deepEqual(stateOf(deployment()), {
      state: 'pending',
      reason: 'starting',
      message: 'The cluster is creating the pod of the run.',
    })
  })

  it('gives an image up after its time', () => {
    const noImage = { waiting: { reason: 'ErrImagePull', message: 'not found' } }
    const state = stateOf(
      deployment(),
      pod('a', { phase: 'Pending', startTime: '2026-11-21T11:49:00Z', ...container(noImage) }),
    )
    assert.ok(state.state === 'failed' && state.reason === 'image_unavailable' && state.uid === 'd')
  })

  it('is not gone before the last pod is', () => {
    const deleting = { deletionTimestamp: '2026-11-21T12:00:20Z' }
    assert.deepEqual(stateOf(deployment(deleting), pod('a', container(running), deleting)), {
      state: 'running',
      uid: 'd',
      instances: [],
    })
    assert.equal(stateOf(null, pod('a', container(running), deleting)).state, 'running')
    assert.deepEqual(stateOf(null, pod('a', { phase: 'Failed' })), { state: 'gone' })
    assert.deepEqual(stateOf(null), { state: 'gone' })
  })
})
