// A run on several nodes: what is made of it, and what its pods, read together, say.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { RunState } from '../../../../src/compute/run.ts'
import type { TrainerSpec } from '../../../../src/compute/trainers.ts'
import type { ObservedPod } from '../../../../src/compute/kubernetes/pods/observed-pod.ts'
import { jobManifest, trainerTemplate } from '../../../../src/compute/kubernetes/trainers/job-manifest.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import type { RunSnapshot } from '../../../../src/compute/kubernetes/trainers/run-snapshot.ts'
import { readRunState } from '../../../../src/compute/kubernetes/trainers/run-state.ts'
import { nodesService } from '../../../../src/compute/kubernetes/trainers/multi-node.ts'
import {
  condition,
  exited,
  limits,
  running,
  someSnapshot,
  someJob,
  somePod,
  someWorkload,
  waitingFor,
} from '../support/snapshots.ts'
import { podStatus } from '../support/small-api-server.ts'
import { observe, someRun, startSmallCluster } from '../support/small-cluster.ts'
import { until } from '../../../support/eventually.ts'

const onNodes = (nodeCount: number): TrainerSpec =>
  someRun('ft-7-a2', { resources: { cpuCount: 1, gpuCount: 8, nodeCount } })
const settings = {
  templates: parsePodTemplates({ trainer: {}, 'model-server': {} }),
  gpuResource: 'nvidia.com/gpu',
  instance: 'blue',
}
const jobOf = (spec: TrainerSpec) =>
  jobManifest(spec, trainerTemplate(spec, settings), { queue: null, instance: 'blue' })

test('several nodes are the pods of a single Indexed Job, which know their number and the name of the first pod', () => {
  const { spec } = jobOf(onNodes(2))
  assert.deepEqual(
    [spec?.completionMode, spec?.parallelism, spec?.completions, spec?.backoffLimit],
    ['Indexed', 2, 2, 0],
  )
  const { metadata, spec: pod } = spec?.template ?? {}
  assert.equal(metadata?.labels?.['anneal.dev/nodes'], '2')
  assert.equal(pod?.subdomain, 'ft-7-a2')
  assert.deepEqual(pod?.topologySpreadConstraints, [
    {
      maxSkew: 1,
      topologyKey: 'kubernetes.io/hostname',
      whenUnsatisfiable: 'ScheduleAnyway',
      labelSelector: { matchLabels: { 'anneal.dev/run': 'ft-7-a2' } },
    },
  ])
  const env = pod?.containers[0]?.env?.filter(({ name }) => /NODE|RENDEZVOUS/.test(name))
  assert.deepEqual(env, [
    { name: 'ANNEAL_NODE_COUNT', value: '2' },
    {
      name: 'ANNEAL_NODE_RANK',
      valueFrom: { fieldRef: { fieldPath: "metadata.annotations['batch.kubernetes.io/job-completion-index']" } },
    },
    { name: 'ANNEAL_RENDEZVOUS', value: 'ft-7-a2-0.ft-7-a2:29500' },
  ])
  assert.deepEqual(pod?.containers[0]?.resources?.limits, { 'nvidia.com/gpu': '8' })
})

test('their Service names them before they are ready, and goes with the Job', () => {
  const { metadata, spec } = nodesService(onNodes(2), { kind: 'Job', name: 'ft-7-a2', uid: 'uid-1' }, 'blue')
  assert.equal(metadata?.name, 'ft-7-a2')
  assert.equal(metadata?.ownerReferences?.[0]?.uid, 'uid-1')
  assert.deepEqual(spec, {
    clusterIP: 'None',
    publishNotReadyAddresses: true,
    selector: { 'anneal.dev/run': 'ft-7-a2' },
  })
})

test('a run on a single node is a plain Job without a rendezvous', () => {
  for (const nodeCount of [0, 1]) {
    const job = jobOf(onNodes(nodeCount))
    assert.deepEqual([job.spec?.parallelism, job.spec?.completions], [1, 1])
    assert(!/Indexed|subdomain|RENDEZVOUS|anneal.dev\/nodes/.test(JSON.stringify(job)))
  }
})

const node = (nodeRank: number, more: Partial<ObservedPod> = {}) =>
  somePod({ uid: `pod-${nodeRank}`, nodeRank, phase: 'Running', containers: [running], ...more })
const ended = (nodeRank: number, exitCode: number, endedAtMs = 950_000, more: Partial<ObservedPod> = {}) =>
  node(nodeRank, {
    phase: exitCode === 0 ? 'Succeeded' : 'Failed',
    containers: [exited(exitCode)],
    endedAtMs,
    ...more,
  })
const unplaced = {
  phase: 'Pending',
  containers: [],
  conditions: [condition('PodScheduled', 'Unschedulable', '0/2 nodes: 2 Insufficient nvidia.com/gpu.', 'False')],
}
const starting = {
  phase: 'Pending',
  containers: [waitingFor('ContainerCreating')],
  conditions: [condition('PodScheduled')],
}

function brief(state: RunState): string {
  if (state.state === 'failed') return [state.state, state.reason, state.exitCode].join('/')
  return state.state === 'pending' ? `pending/${state.reason}` : state.state
}

suite('two nodes', () => {
  const drained = [condition('DisruptionTarget', 'EvictionByEvictionAPI', 'Drained.')]
  const suspended = someJob({ podCount: 2, isSuspended: true })
  const cases: [string, Partial<RunSnapshot>, string][] = [
    ['no pod yet', {}, 'pending/starting'],
    ['one pod is not made yet', { pods: [node(0)] }, 'pending/starting'],
    [
      'one pod is refused by a quota',
      { pods: [node(0)], refusal: { jobUid: 'job-uid', atMs: 0, message: 'exceeded quota: small' } },
      'pending/quota_exceeded',
    ],
    ['one pod has no room', { pods: [node(0), node(1, unplaced)] }, 'pending/unschedulable'],
    [
      'what waits for more than its start is told',
      { pods: [node(0, starting), node(1, unplaced)] },
      'pending/unschedulable',
    ],
    ['both run', { pods: [node(0), node(1)] }, 'running'],
    ['the second has done its part', { pods: [node(0), ended(1, 0)] }, 'running'],
    ['both have succeeded', { pods: [ended(0, 0), ended(1, 0)] }, 'succeeded'],
    ['the first still saves what the second has spoilt', { pods: [node(0), ended(1, 137)] }, 'running'],
    ['the one that failed first', { pods: [ended(0, 75, 960_000), ended(1, 71)] }, 'failed/exited/71'],
    [
      'not the one that lost its peer, though it was seen first',
      { pods: [ended(0, 75), ended(1, 137, 960_000)] },
      'failed/killed/137',
    ],
    ['not the one that was ended with it', { pods: [ended(0, 143), ended(1, 65, 960_000)] }, 'failed/exited/65'],
    ['both lost each other', { pods: [ended(0, 75), ended(1, 75)] }, 'failed/exited/75'],
    [
      'one was drained',
      { pods: [ended(0, 143), ended(1, 143, 950_000, { conditions: drained })] },
      'failed/evicted/143',
    ],
    ['the other is gone with its end', { pods: [ended(0, 75)], gonePods: [ended(1, 137)] }, 'failed/killed/137'],
    ['the other is gone, nobody saw how', { pods: [ended(0, 75)], gonePods: [node(1)] }, 'failed/exited/75'],
    [
      'a lost node is told though the other runs',
      { pods: [node(0), node(1, { deleteByMs: 900_000 })] },
      'failed/node_lost/',
    ],
    ['both were taken back by the queue', { job: suspended, gonePods: [node(0), node(1)] }, 'failed/preempted/'],
    [
      'the queue takes back one after the other',
      { job: suspended, workload: someWorkload(), pods: [node(0)], gonePods: [ended(1, 143)] },
      'running',
    ],
    ['their Job is gone, one runs on', { job: null, pods: [ended(0, 75), node(1)] }, 'running'],
    ['their Job is gone, both have ended', { job: null, pods: [ended(0, 75), ended(1, 70)] }, 'failed/exited/70'],
  ]
  for (const [what, snapshot, expected] of cases)
    test(what, () => {
      const job = someJob({ podCount: 2 })
      assert.equal(brief(readRunState(someSnapshot({ job, ...snapshot }), limits)), expected)
    })
})

test('two pods are launched with their Service, watched to the end of both, heard from the first, and ended together', async (t) => {
  const { server, compute } = await startSmallCluster(t)
  const spec = onNodes(2)
  const { name } = spec
  const { uid } = await compute.launch(spec)
  assert.deepEqual(await compute.launch(spec), { uid, adopted: true })
  for (const kind of ['services', 'secrets'] as const)
    assert.equal(server.objects[kind].get(name)?.metadata.ownerReferences?.[0]?.uid, uid)
  const calls = server.calls.filter((call) => /^POST (jobs|services|secrets)$/.test(call)).slice(0, 3)
  assert.deepEqual(calls, ['POST jobs', 'POST services', 'POST secrets'])

  const { states, end, last } = observe(compute, { name, uid })
  server.startPod(name, undefined, 1)
  await until('it is pending', () => last() === 'pending')
  server.startPod(name, undefined, 0)
  await until('it runs', () => last() === 'running')
  server.logs.set(`${name}-0-pod`, 'first\n')
  server.logs.set(`${name}-1-pod`, 'second\n')
  assert.equal((await compute.readLogs({ name, uid }))?.text, 'first\n')

  server.startPod(name, podStatus('Failed', { terminated: { exitCode: 71, reason: 'Error' } }), 1)
  server.startPod(name, podStatus('Failed', { terminated: { exitCode: 75, reason: 'Error' } }), 0)
  const ended = await end
  assert(ended.state === 'failed' && ended.exitCode === 71)
  assert(!states.some((state) => state.state === 'failed' && state.exitCode === 75))

  const terminating = compute.terminate({ name, uid }, { graceMs: 1000 })
  const isAsked = (index: number) => server.objects.pods.get(`${name}-${index}-pod`)?.metadata.deletionTimestamp
  await until('both are asked to go', () => isAsked(0) !== undefined && isAsked(1) !== undefined)
  for (const index of [0, 1]) server.remove('pods', `${name}-${index}-pod`)
  assert.deepEqual((await terminating).end, ended)
  assert.deepEqual([server.objects.jobs.size, server.objects.pods.size], [0, 0])
})
