import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import packageJson from '../../../../package.json' with { type: 'json' }
import type { ModelServerSpec } from '../../../../src/compute/model-servers.ts'
import { secretManifest } from '../../../../src/compute/kubernetes/pods/owned-objects.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import {
  deploymentManifest,
  modelServerBudget,
  modelServerService,
  modelServerTemplate,
} from '../../../../src/compute/kubernetes/model-servers/manifests.ts'

const spec: ModelServerSpec = {
  name: 'model-server-tiny-g3',
  model: 'tiny',
  labels: { server: 'model-server-tiny', launch: '3' },
  env: { ANNEAL_SERVER_SPEC: '{}' },
  secretEnv: { ANNEAL_TOKEN: 'a secret' },
  resources: { cpuCount: 2, memoryBytes: 4096, gpuCount: 1 },
  replicas: 3,
  terminationGraceMs: 30_000,
}
const image = { containers: [{ name: 'model-server', image: 'runtime:1' }] }
const templates = parsePodTemplates({
  trainer: {},
  'model-server': { spec: image },
  models: {
    tiny: {
      'model-server': {
        spec: {
          nodeSelector: { gpu: 'yes' },
          volumes: [{ name: 'weights', persistentVolumeClaim: { claimName: 'weights', readOnly: true } }],
          containers: [
            { name: 'model-server', volumeMounts: [{ name: 'weights', mountPath: '/models', readOnly: true }] },
          ],
        },
      },
    },
  },
})
const template = modelServerTemplate(spec, { templates, gpuResource: 'nvidia.com/gpu', instance: 'blue' })
const owner = { kind: 'Deployment', name: 'model-server-tiny', uid: 'uid-1' } as const
const [container] = template.spec?.containers ?? []
const selected = {
  'app.kubernetes.io/managed-by': 'anneal',
  'app.kubernetes.io/component': 'model-server',
  'anneal.dev/run': 'model-server-tiny-g3',
  'anneal.dev/server': 'model-server-tiny',
  'anneal.dev/launch': '3',
}
const labels = {
  'app.kubernetes.io/name': 'anneal-model-server',
  'app.kubernetes.io/instance': 'blue',
  'app.kubernetes.io/version': packageJson.version,
  ...selected,
}

describe('the manifests of a model server', () => {
  it('are a Deployment of the same name at each launch, whose replicas have the labels of this one alone', () => {
    const { metadata, spec: wanted } = deploymentManifest(spec, template, 'blue')
    assert.equal(metadata?.name, 'model-server-tiny')
    assert.deepEqual(metadata?.labels, labels)
    assert.equal(wanted?.replicas, 3)
    assert.deepEqual(wanted?.selector, { matchLabels: selected })
    assert.deepEqual(wanted?.template.metadata?.labels, labels)
    assert.equal(deploymentManifest({ ...spec, replicas: undefined as never }, template, 'blue').spec?.replicas, 1)
  })

  it('let each pod report with its own name and address', () => {
    const variables = Object.fromEntries((container?.env ?? []).map(({ name, ...value }) => [name, value]))
    assert.deepEqual(variables['ANNEAL_INSTANCE'], { valueFrom: { fieldRef: { fieldPath: 'metadata.name' } } })
    assert.deepEqual(variables['ANNEAL_ADVERTISE_HOST'], { valueFrom: { fieldRef: { fieldPath: 'status.podIP' } } })
    assert.deepEqual(variables['ANNEAL_BIND_HOST'], { value: '0.0.0.0' })
    assert.deepEqual(variables['ANNEAL_PORT'], { value: '8000' })
    assert.equal(variables['ANNEAL_REPLICAS'], undefined)
  })

  it('keep the token in a Secret of this launch, which the Deployment owns, and nowhere else', () => {
    const secret = secretManifest('model-server', spec, owner, 'blue')
    assert.equal(secret.metadata?.name, 'model-server-tiny-g3')
    assert.deepEqual(secret.stringData, { ANNEAL_TOKEN: 'a secret' })
    assert.deepEqual(secret.metadata?.ownerReferences, [
      { apiVersion: 'apps/v1', kind: 'Deployment', name: 'model-server-tiny', uid: 'uid-1', controller: true },
    ])
    const others = [
      deploymentManifest(spec, template, 'blue'),
      modelServerService(spec, owner, 'blue'),
      modelServerBudget(spec, owner, 'blue'),
    ]
    assert.doesNotMatch(JSON.stringify(others), /a secret/)
  })

  it('are hardened, and restarted in place', () => {
    assert.equal(template.spec?.restartPolicy, 'Always')
    assert.equal(template.spec?.automountServiceAccountToken, false)
    assert.equal(template.spec?.securityContext?.runAsNonRoot, true)
    assert.deepEqual(container?.securityContext, {
      allowPrivilegeEscalation: false,
      readOnlyRootFilesystem: true,
      capabilities: { drop: ['ALL'] },
    })
    assert.equal(template.spec?.terminationGracePeriodSeconds, 30)
  })

  it('ask the server itself whether it is well, with half an hour to fetch its weights', () => {
    const httpGet = { path: '/health', port: 8000 }
    assert.deepEqual(container?.readinessProbe?.httpGet, httpGet)
    assert.deepEqual(container?.livenessProbe?.httpGet, httpGet)
    const { periodSeconds = 0, failureThreshold = 0 } = container?.startupProbe ?? {}
    assert.ok(periodSeconds * failureThreshold >= 30 * 60)
  })

  it("keep the platform team's image, volume claim and nodes", () => {
    assert.equal(container?.image, 'runtime:1')
    assert.deepEqual(template.spec?.nodeSelector, { gpu: 'yes' })
    assert.ok(container?.volumeMounts?.some(({ mountPath, name }) => mountPath === '/models' && name === 'weights'))
    assert.ok(container?.volumeMounts?.some(({ mountPath }) => mountPath === '/work'))
    assert.equal(container?.resources?.limits?.['nvidia.com/gpu'], '1')
  })

  it('have a headless Service, and a budget that lets a drain take one replica at a time', () => {
    const service = modelServerService(spec, owner, 'blue').spec
    assert.deepEqual(service, {
      clusterIP: 'None',
      selector: selected,
      ports: [{ name: 'http', port: 8000, targetPort: 'http' }],
    })
    assert.deepEqual(modelServerBudget(spec, owner, 'blue').spec, {
      maxUnavailable: 1,
      unhealthyPodEvictionPolicy: 'AlwaysAllow',
      selector: { matchLabels: selected },
    })
  })
})

describe('the pods of a vLLM', () => {
  const server = {
    name: 'org/model',
    engine: 'vllm',
    source: { hub: 'org/model', revision: 'abc' },
    context_length: 4096,
    max_batch: 64,
    max_adapters: 4,
    max_rank: 100,
  }
  const image = { name: 'vllm', image: 'vllm/vllm-openai:v0.33.0' }
  const withEngine = parsePodTemplates({
    trainer: {},
    'model-server': { spec: { containers: [{ name: 'model-server', image: 'runtime:1' }, image] } },
  })
  const vllmSpec = (source: object) => ({ ...spec, env: { ANNEAL_SERVER_SPEC: JSON.stringify({ ...server, source }) } })
  const podOf = (source: object) =>
    modelServerTemplate(vllmSpec(source), { templates: withEngine, gpuResource: 'nvidia.com/gpu', instance: 'blue' })
      .spec?.containers ?? []
  const valueOf = (args: string[] = [], name: string) => args[args.indexOf(name) + 1]

  it('are our agent on the port, and the engine on the loopback with the GPU', () => {
    const pod = podOf(server.source)
    const [agent, engine] = ['model-server', 'vllm'].map((name) => pod.find((each) => each.name === name))
    assert.equal(pod.length, 2)
    assert.equal(engine?.image, 'vllm/vllm-openai:v0.33.0')
    assert.deepEqual(engine?.args?.slice(0, 3), ['org/model', '--revision', 'abc'])
    assert.equal(valueOf(engine?.args, '--host'), '127.0.0.1')
    assert.equal(valueOf(engine?.args, '--served-model-name'), 'org/model')
    assert.equal(valueOf(engine?.args, '--max-model-len'), '4096')
    assert.ok(engine?.args?.includes('--enable-lora'))
    assert.equal(valueOf(engine?.args, '--max-cpu-loras'), '4')
    assert.equal(valueOf(engine?.args, '--max-loras'), '4')
    assert.equal(valueOf(engine?.args, '--max-lora-rank'), '128')
    assert.equal(valueOf(engine?.args, '--structured-outputs-config.backend'), 'guidance')
    assert.ok(engine?.env?.some(({ name, value }) => name === 'VLLM_ALLOW_RUNTIME_LORA_UPDATING' && value === 'True'))
    assert.equal(engine?.resources?.limits?.['nvidia.com/gpu'], '1')
    assert.equal(agent?.resources?.limits?.['nvidia.com/gpu'], undefined)
    assert.deepEqual(engine?.securityContext, agent?.securityContext)
    assert.ok(!engine?.env?.some(({ name }) => name === 'ANNEAL_TOKEN'), 'it has no token of ours')
  })

  it('have one share of disk for both containers, and no folder is larger', () => {
    const shared = { ...vllmSpec(server.source), resources: { ...spec.resources, diskBytes: 2 ** 33 } }
    const pod = modelServerTemplate(shared, {
      templates: withEngine,
      gpuResource: 'nvidia.com/gpu',
      instance: 'blue',
    }).spec
    const limits = pod?.containers.map(({ name, resources }) => [name, resources?.limits?.['ephemeral-storage']])
    assert.deepEqual(limits, [
      ['model-server', '8589934592'],
      ['vllm', undefined],
    ])
    const sizes = pod?.volumes?.map(({ name, emptyDir }) => [name, emptyDir?.sizeLimit])
    assert.deepEqual(Object.fromEntries(sizes ?? []), {
      work: '8589934592',
      tmp: '8589934592',
      'shared-memory': undefined,
    })
  })

  it('find their weights on a claim, and in no package', () => {
    assert.equal(podOf({ path: 'models/big' }).find(({ name }) => name === 'vllm')?.args?.[0], '/models/models/big')
    assert.throws(() => podOf({ package: 'x' }), { code: 'invalid', message: /weights come from a Python package/ })
  })
})
