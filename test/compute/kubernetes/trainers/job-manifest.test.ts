import assert from 'node:assert/strict'
import { test } from 'node:test'
import packageJson from '../../../../package.json' with { type: 'json' }
import type { TrainerSpec } from '../../../../src/compute/trainers.ts'
import { jobManifest, trainerTemplate } from '../../../../src/compute/kubernetes/trainers/job-manifest.ts'
import { readLabels, runLabels, selectorOfProgram } from '../../../../src/compute/kubernetes/pods/labels.ts'
import { secretManifest } from '../../../../src/compute/kubernetes/pods/owned-objects.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'

const spec: TrainerSpec = {
  name: 'ft-7-a2',
  model: 'big',
  labels: { job: '7', attempt: '2', account: 'acme' },
  env: { ANNEAL_INTERNAL_URL: 'http://api:8081' },
  secretEnv: { ANNEAL_TOKEN: 'secret' },
  resources: { cpuCount: 1.5, memoryBytes: 2 ** 31, diskBytes: 2 ** 33, gpuCount: 2 },
  terminationGraceMs: 30_000,
}

const templates = parsePodTemplates({
  trainer: { spec: { containers: [{ name: 'trainer', image: 'registry/runtime:1' }] } },
  'model-server': { spec: { containers: [{ name: 'model-server', image: 'registry/runtime:1' }] } },
  models: {
    big: {
      trainer: {
        spec: {
          imagePullSecrets: [{ name: 'registry' }],
          nodeSelector: { gpu: 'h100' },
          securityContext: { runAsUser: null },
          tolerations: [{ key: 'gpu', operator: 'Exists' }],
          containers: [
            {
              name: 'trainer',
              image: 'registry/runtime-cuda:1',
              env: [{ name: 'HF_TOKEN', valueFrom: { secretKeyRef: { name: 'hub', key: 'token' } } }],
              resources: { limits: { memory: '8Gi' } },
            },
          ],
        },
      },
    },
  },
})
const settings = { templates, gpuResource: 'nvidia.com/gpu', instance: 'blue' }
const labels = {
  'app.kubernetes.io/name': 'anneal-trainer',
  'app.kubernetes.io/instance': 'blue',
  'app.kubernetes.io/version': packageJson.version,
  'app.kubernetes.io/managed-by': 'anneal',
  'app.kubernetes.io/component': 'trainer',
  'anneal.dev/run': 'ft-7-a2',
  'anneal.dev/job': '7',
  'anneal.dev/attempt': '2',
  'anneal.dev/account': '822b33ad87c148a0a20a5ba7cd5ebcaa',
}

test('a run is a Job that the cluster never starts a second time, with the settings of its model', () => {
  const job = jobManifest({ ...spec, labels: { ...spec.labels } }, trainerTemplate(spec, settings), {
    queue: null,
    instance: 'blue',
  })
  const hash = job.metadata?.annotations?.['anneal.dev/spec-hash']
  assert.match(hash ?? '', /^[0-9a-f]{64}$/)
  assert.deepEqual(job, {
    apiVersion: 'batch/v1',
    kind: 'Job',
    metadata: { name: 'ft-7-a2', labels, annotations: { 'anneal.dev/spec-hash': hash } },
    spec: {
      parallelism: 1,
      completions: 1,
      backoffLimit: 0,
      podReplacementPolicy: 'Failed',
      podFailurePolicy: {
        rules: [
          { action: 'FailJob', onExitCodes: { containerName: 'trainer', operator: 'NotIn', values: [0, 137, 143] } },
          { action: 'FailJob', onPodConditions: [{ type: 'DisruptionTarget', status: 'True' }] },
          { action: 'FailJob', onExitCodes: { containerName: 'trainer', operator: 'NotIn', values: [0] } },
        ],
      },
      template: {
        metadata: { labels, annotations: { 'anneal.dev/spec-hash': hash } },
        spec: {
          restartPolicy: 'Never',
          terminationGracePeriodSeconds: 30,
          automountServiceAccountToken: false,
          enableServiceLinks: false,
          imagePullSecrets: [{ name: 'registry' }],
          nodeSelector: { gpu: 'h100' },
          tolerations: [{ key: 'gpu', operator: 'Exists' }],
          securityContext: {
            runAsNonRoot: true,
            runAsGroup: 10001,
            fsGroup: 10001,
            fsGroupChangePolicy: 'OnRootMismatch',
            seccompProfile: { type: 'RuntimeDefault' },
          },
          containers: [
            {
              name: 'trainer',
              image: 'registry/runtime-cuda:1',
              command: ['python3', '-m', 'anneal_runtime.trainer'],
              env: [
                { name: 'LANG', value: 'C.UTF-8' },
                { name: 'HOME', value: '/work' },
                { name: 'TMPDIR', value: '/tmp' },
                { name: 'PYTHONUNBUFFERED', value: '1' },
                { name: 'OMP_NUM_THREADS', value: '1' },
                { name: 'GOMP_SPINCOUNT', value: '10000' },
                { name: 'MALLOC_ARENA_MAX', value: '1' },
                { name: 'TOKENIZERS_PARALLELISM', value: 'false' },
                { name: 'ANNEAL_MODELS_DIR', value: '/models' },
                { name: 'ANNEAL_WORK_DIR', value: '/work' },
                { name: 'HF_TOKEN', valueFrom: { secretKeyRef: { name: 'hub', key: 'token' } } },
                { name: 'ANNEAL_INTERNAL_URL', value: 'http://api:8081' },
                { name: 'ANNEAL_TOKEN', valueFrom: { secretKeyRef: { name: 'ft-7-a2', key: 'ANNEAL_TOKEN' } } },
              ],
              resources: {
                requests: {
                  cpu: '1.5',
                  memory: '2147483648',
                  'ephemeral-storage': '8589934592',
                  'nvidia.com/gpu': '2',
                },
                limits: { memory: '8Gi', 'ephemeral-storage': '8589934592', 'nvidia.com/gpu': '2' },
              },
              securityContext: {
                allowPrivilegeEscalation: false,
                readOnlyRootFilesystem: true,
                capabilities: { drop: ['ALL'] },
              },
              volumeMounts: [
                { name: 'work', mountPath: '/work' },
                { name: 'tmp', mountPath: '/tmp' },
                { name: 'shared-memory', mountPath: '/dev/shm' },
              ],
            },
          ],
          volumes: [
            { name: 'work', emptyDir: { sizeLimit: '8589934592' } },
            { name: 'tmp', emptyDir: { sizeLimit: '8589934592' } },
            { name: 'shared-memory', emptyDir: { medium: 'Memory' } },
          ],
        },
      },
    },
  })
})

test('no secret is in the Job, and its Secret goes with it', () => {
  const job = jobManifest(spec, trainerTemplate(spec, settings), { queue: null, instance: 'blue' })
  assert(!JSON.stringify(job).includes('"secret"'))
  const secret = secretManifest('trainer', spec, { kind: 'Job', name: spec.name, uid: 'uid-1' }, 'blue')
  assert.deepEqual(secret.stringData, { ANNEAL_TOKEN: 'secret' })
  assert.deepEqual(secret.metadata?.ownerReferences, [
    { apiVersion: 'batch/v1', kind: 'Job', name: 'ft-7-a2', uid: 'uid-1', controller: true, blockOwnerDeletion: true },
  ])
})

test('a template cannot take a run its restart policy, its name or its address', () => {
  const greedy = parsePodTemplates({
    trainer: {
      metadata: { labels: { 'anneal.dev/run': 'other', team: 'platform' } },
      spec: {
        restartPolicy: 'Always',
        containers: [{ name: 'trainer', env: [{ name: 'ANNEAL_INTERNAL_URL', value: 'http://elsewhere' }] }],
      },
    },
    'model-server': {},
  })
  const { metadata, spec: pod } = trainerTemplate(spec, { ...settings, templates: greedy })
  assert.equal(pod?.restartPolicy, 'Never')
  assert.deepEqual(metadata?.labels, { ...labels, team: 'platform' })
  const urls = pod?.containers[0]?.env?.filter(({ name }) => name === 'ANNEAL_INTERNAL_URL')
  assert.deepEqual(urls, [{ name: 'ANNEAL_INTERNAL_URL', value: 'http://api:8081' }])
})

test('with a queue a Job is created suspended and labelled for it', () => {
  const queue = { queue: 'gpus', priorityClasses: { low: 'spare', normal: 'batch', high: 'urgent' } }
  const job = jobManifest(spec, trainerTemplate(spec, settings), { queue, instance: 'blue' })
  assert.equal(job.spec?.suspend, true)
  assert.equal(job.metadata?.labels?.['kueue.x-k8s.io/queue-name'], 'gpus')
  assert.equal(job.metadata?.labels?.['kueue.x-k8s.io/priority-class'], 'batch')
  assert.equal(job.spec?.template.metadata?.labels?.['kueue.x-k8s.io/queue-name'], undefined)
  const urgent = jobManifest({ ...spec, priority: 'high' }, trainerTemplate(spec, settings), {
    queue,
    instance: 'blue',
  })
  assert.equal(urgent.metadata?.labels?.['kueue.x-k8s.io/priority-class'], 'urgent')
})

test('labels come back as they were given, but for the account', () => {
  const { account, ...rest } = readLabels(runLabels('trainer', spec))
  assert.deepEqual(rest, { job: '7', attempt: '2' })
  assert.equal(account, '822b33ad87c148a0a20a5ba7cd5ebcaa')
  assert.equal(
    selectorOfProgram('trainer', { account: 'acme', job: '7' }),
    'app.kubernetes.io/managed-by=anneal,app.kubernetes.io/component=trainer,' +
      'anneal.dev/account=822b33ad87c148a0a20a5ba7cd5ebcaa,anneal.dev/job=7',
  )
})

test('pod templates are checked as they are read', () => {
  assert.throws(() => parsePodTemplates({ trainer: {} }), /model-server/)
  assert.throws(() => parsePodTemplates({ trainer: { kind: 'Pod' }, 'model-server': {} }), /kind/)
})
