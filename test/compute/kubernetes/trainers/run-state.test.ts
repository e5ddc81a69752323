import assert from 'node:assert/strict'
import { test } from 'node:test'
import type { RunState } from '../../../../src/compute/run.ts'
import type { RunSnapshot } from '../../../../src/compute/kubernetes/trainers/run-snapshot.ts'
import { readRunState } from '../../../../src/compute/kubernetes/trainers/run-state.ts'
import {
  condition,
  container,
  exited,
  limits,
  running,
  someSnapshot,
  someJob,
  somePod,
  someWorkload,
  waitingFor,
} from '../support/snapshots.ts'

/** `failed/<reason>/<exit code>/<signal>`, `pending/<reason>` or the bare state. */
function brief(state: RunState): string {
  if (state.state === 'failed') return ['failed', state.reason, state.exitCode, state.signal].join('/')
  return state.state === 'pending' ? `pending/${state.reason}` : state.state
}

const pod = (more: Parameters<typeof somePod>[0]) => ({ pods: [somePod(more)] })
const failedPod = (more: Parameters<typeof somePod>[0]) => pod({ phase: 'Failed', ...more })
const disrupted = (reason: string) => [condition('DisruptionTarget', reason, 'Its node is drained.')]
const failedJob = (reason: string, message = '') => ({
  job: someJob({ conditions: [condition('Failed', reason, message)] }),
})
const placed = [condition('PodScheduled')]

const cases: [string, Partial<RunSnapshot>, string][] = [
  ['no Job and no pod', { job: null }, 'gone'],
  ['no Job, but a pod of it', { job: null, ...pod({ phase: 'Running' }) }, 'running'],
  ['no Job, and its pod has failed', { job: null, ...failedPod({ containers: [exited(3)] }) }, 'failed/exited/3/'],
  ['a Job without a pod yet', {}, 'pending/starting'],
  ['not placed yet', pod({}), 'pending/starting'],
  [
    'its container is made',
    pod({ conditions: placed, containers: [waitingFor('ContainerCreating')] }),
    'pending/starting',
  ],
  ['it runs', pod({ phase: 'Running', containers: [running] }), 'running'],
  ['it runs and was asked to go', pod({ phase: 'Running', deleteByMs: 999_000, containers: [running] }), 'running'],
  ['it succeeded', pod({ phase: 'Succeeded', containers: [exited(0, 'Completed')] }), 'succeeded'],
  ['only its Job is left, complete', { job: someJob({ conditions: [condition('Complete')] }) }, 'succeeded'],
  ['an exit code of its own', failedPod({ containers: [exited(65)] }), 'failed/exited/65/'],
  ['ended by SIGTERM', failedPod({ containers: [exited(143)] }), 'failed/killed/143/SIGTERM'],
  ['ended by SIGKILL', failedPod({ containers: [exited(137)] }), 'failed/killed/137/SIGKILL'],
  ...[
    'Usage of EmptyDir volume "work" exceeds the limit "1Gi". ',
    'Pod ephemeral local storage usage exceeds the total limit of containers 10Gi. ',
    'Container trainer exceeded its local ephemeral storage limit "1Gi". ',
  ].map((message): (typeof cases)[number] => [
    `above its share of disk: ${message}`,
    failedPod({ reason: 'Evicted', message, containers: [exited(137)] }),
    'failed/out_of_disk/137/SIGKILL',
  ]),
  [
    'on a node that runs short of disk',
    failedPod({
      reason: 'Evicted',
      message:
        'The node was low on resource: ephemeral-storage. Threshold quantity: 1Gi, available: 9Mi. Container trainer was using 8Ki, request is 1Gi, has larger consumption of ephemeral-storage. ',
    }),
    'failed/evicted//',
  ],
  ['out of memory', failedPod({ containers: [exited(137, 'OOMKilled')] }), 'failed/out_of_memory/137/SIGKILL'],
  [
    'a sidecar that was killed is not the program',
    failedPod({
      containers: [
        exited(70),
        container({ is: 'terminated', exitCode: 137, signal: 0, reason: 'OOMKilled', message: '' }, 'agent'),
      ],
    }),
    'failed/exited/70/',
  ],
  ['evicted by its node', failedPod({ reason: 'Evicted', message: 'The node was low on memory.' }), 'failed/evicted//'],
  [
    'drained',
    failedPod({ conditions: disrupted('EvictionByEvictionAPI'), containers: [exited(143)] }),
    'failed/evicted/143/SIGTERM',
  ],
  [
    'drained, but it had failed by itself',
    failedPod({ conditions: disrupted('EvictionByEvictionAPI'), containers: [exited(65)] }),
    'failed/exited/65/',
  ],
  ['refused by its node', failedPod({ reason: 'UnexpectedAdmissionError', message: 'no GPU' }), 'failed/evicted//'],
  [
    'preempted by the scheduler',
    failedPod({ conditions: disrupted('PreemptionByScheduler'), containers: [exited(143)] }),
    'failed/preempted/143/SIGTERM',
  ],
  [
    'taken back by the queue',
    { job: someJob({ isSuspended: true }), ...failedPod({ containers: [exited(143)] }) },
    'failed/preempted/143/SIGTERM',
  ],
  [
    'taken back by the queue, and its pod has gone',
    { job: someJob({ isSuspended: true }), gonePods: [somePod({ phase: 'Failed', containers: [exited(143)] })] },
    'failed/preempted/143/SIGTERM',
  ],
  [
    'taken back, gone before anyone saw its end',
    { job: someJob({ isSuspended: true }), gonePods: [somePod({ phase: 'Running', containers: [running] })] },
    'failed/preempted//',
  ],
  [
    'started again by the queue: the first pod counts',
    { gonePods: [somePod({ uid: 'first', phase: 'Failed', containers: [exited(143)] })], ...pod({ phase: 'Running' }) },
    'failed/killed/143/SIGTERM',
  ],
  [
    'a pod that never started does not count',
    { gonePods: [somePod({ uid: 'first' })], ...pod({ phase: 'Running', containers: [running] }) },
    'running',
  ],
  ['its node was given up', failedPod({ conditions: disrupted('DeletionByPodGC') }), 'failed/node_lost//'],
  ['declared dead', failedPod({ reason: 'NodeLost', containers: [running] }), 'failed/node_lost//'],
  ['silent within its time', pod({ phase: 'Running', deleteByMs: 971_000, containers: [running] }), 'running'],
  [
    'silent beyond its time',
    pod({ phase: 'Running', deleteByMs: 969_000, containers: [running] }),
    'failed/node_lost//',
  ],
  [
    'past its deadline',
    { ...failedJob('DeadlineExceeded'), ...failedPod({ containers: [exited(143)] }) },
    'failed/deadline_exceeded/143/SIGTERM',
  ],
  ['past its deadline, no pod left', failedJob('DeadlineExceeded'), 'failed/deadline_exceeded//'],
  [
    'its pod has gone, its Job remembers the exit code',
    failedJob(
      'PodFailurePolicy',
      'Container trainer for pod anneal-runs/x failed with exit code 65 matching FailJob rule at index 0',
    ),
    'failed/exited/65/',
  ],
  [
    'its pod has gone, its Job remembers a disruption',
    failedJob('PodFailurePolicy', 'Pod anneal-runs/x has condition DisruptionTarget matching FailJob rule at index 1'),
    'failed/evicted//',
  ],
  ['its pod has gone, and nobody knows', failedJob('BackoffLimitExceeded'), 'failed/lost//'],
  [
    'its container cannot be started',
    failedPod({ containers: [exited(128, 'StartError', 'no such file')] }),
    'failed/killed//',
  ],
  ['stopped before it started', failedPod({ containers: [waitingFor('ContainerCreating')] }), 'failed/killed//'],
  ['its image does not come', pod({ containers: [waitingFor('ImagePullBackOff')] }), 'pending/image_unavailable'],
  [
    'its image has not come for too long',
    pod({ startedAtMs: 300_000, containers: [waitingFor('ErrImagePull')] }),
    'failed/image_unavailable//',
  ],
  [
    'its image has no possible name',
    pod({ containers: [waitingFor('InvalidImageName')] }),
    'failed/image_unavailable//',
  ],
  [
    'no pod, for want of quota',
    {
      refusal: {
        jobUid: 'job-uid',
        atMs: 0,
        message: 'pods "x" is forbidden: exceeded quota: small, requested: cpu=1',
      },
    },
    'pending/quota_exceeded',
  ],
  ['in the queue', { job: someJob({ isSuspended: true }), workload: someWorkload() }, 'pending/waiting_for_quota'],
  ['held back, nothing known of a queue', { job: someJob({ isSuspended: true }) }, 'pending/waiting_for_quota'],
  ['a pod of another Job of the name', pod({ ownerUid: 'other', phase: 'Failed' }), 'pending/starting'],
]

for (const [what, snapshot, expected] of cases)
  test(what, () => assert.equal(brief(readRunState(someSnapshot(snapshot), limits)), expected))

const unplaced = (message: string) =>
  pod({ conditions: [condition('PodScheduled', 'Unschedulable', message, 'False')] })

const sentences: [Partial<RunSnapshot>, string][] = [
  [
    unplaced('0/1 nodes are available: 1 Insufficient nvidia.com/gpu. preemption: 0/1 nodes are available.'),
    'No node has enough nvidia.com/gpu free: 0/1 nodes are available: 1 Insufficient nvidia.com/gpu.',
  ],
  [
    unplaced('0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.'),
    'No node has enough CPU and memory free: 0/2 nodes are available: 1 Insufficient cpu, 1 Insufficient memory.',
  ],
  [
    unplaced("0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector."),
    "No node fits: 0/1 nodes are available: 1 node(s) didn't match Pod's node affinity/selector.",
  ],
  [
    {
      refusal: {
        jobUid: '',
        atMs: 0,
        message:
          'Error creating: pods "x" is forbidden: exceeded quota: small, requested: cpu=1, used: cpu=1, limited: cpu=1',
      },
    },
    'The quota of the namespace is used up: small, requested: cpu=1, used: cpu=1, limited: cpu=1.',
  ],
  [
    {
      job: someJob({ isSuspended: true }),
      workload: someWorkload({
        conditions: [
          condition('QuotaReserved', 'Pending', 'insufficient unused quota for cpu, 1 more needed', 'False'),
        ],
      }),
      place: { position: 2, waiting: 3 },
    },
    'Waiting in the queue gpus, number 2 of 3. insufficient unused quota for cpu, 1 more needed.',
  ],
  [
    { job: someJob({ isSuspended: true }), workload: someWorkload(), place: { position: 40, waiting: 900 } },
    'Waiting in the queue gpus, more than 20 before it.',
  ],
  [
    {
      job: someJob({ isSuspended: true }),
      workload: someWorkload({
        conditions: [
          condition(
            'Evicted',
            'Preempted',
            'Preempted to accommodate a workload (UID: f99-2d, JobUID: 4394-02) due to prioritization in the ClusterQueue',
          ),
        ],
      }),
      ...failedPod({ containers: [exited(143)] }),
    },
    "The cluster's queue took the run back: Preempted to accommodate a workload due to prioritization in the ClusterQueue",
  ],
]

for (const [snapshot, sentence] of sentences)
  test(`says: ${sentence}`, () => {
    const state = readRunState(someSnapshot(snapshot), limits)
    assert.equal('message' in state && state.message, sentence)
  })
