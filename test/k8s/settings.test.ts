// The manifests, the code and the guide speak of the same settings, pods and numbers.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { loadYaml } from '@kubernetes/client-node'
import { parsePodTemplates } from '../../src/compute/kubernetes/pods/pod-template-file.ts'
import { graderPodManifest } from '../../src/compute/kubernetes/python-graders/pod-manifest.ts'
import { modelServerTemplate } from '../../src/compute/kubernetes/model-servers/manifests.ts'
import { trainerTemplate } from '../../src/compute/kubernetes/trainers/job-manifest.ts'
import { readKubernetesConfig } from '../../src/config/kubernetes.ts'
import { readConfig } from '../../src/config/service.ts'
import { readTemporalConfig } from '../../src/config/temporal.ts'
import { parseCatalogue } from '../../src/domain/catalogue.ts'
import { newestTag } from '../../src/domain/python-grader.ts'
import { tooWide } from '../../src/domain/trusted-proxies.ts'
import { root } from '../../tools/paths.mjs'
import { isKnownSetting } from './known-settings.ts'
import { filesAsTheyLie, overlays, podSpecs, render, type Manifest, type PodSpec } from './manifests.ts'
import { violations } from './restricted.ts'

const readText = (path: string) => readFileSync(join(root, path), 'utf8')

/** The settings that the operator's Secret must hold. All others have defaults or stand in anneal-config. */
const secrets = {
  DATABASE_URL: 'postgresql://anneal@10.0.0.1/anneal',
  S3_ACCESS_KEY: 'key',
  S3_SECRET_KEY: 'secret',
  ANNEAL_SECRET: 'x'.repeat(32),
}

type ClusterQueue = {
  resourceGroups: { flavors: { resources: { name: string; nominalQuota: string }[] }[] }[]
}

const gpuResource = 'nvidia.com/gpu'
const run = {
  name: 'ft-1-a1',
  labels: { server: 'model-server-tiny', launch: '1' },
  env: {},
  secretEnv: { ANNEAL_TOKEN: 'token' },
  resources: { cpuCount: 1, memoryBytes: 2 ** 31, gpuCount: 1 },
  terminationGraceMs: 30_000,
}

for (const overlay of overlays) {
  suite(`k8s/overlays/${overlay}`, () => {
    const manifests = render(overlay)
    const all = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
    const settingsOf = (name: string) =>
      all('ConfigMap').find(({ metadata }) => metadata.name.startsWith(name))?.data ??
      assert.fail(`no ConfigMap ${name}`)

    const dir = mkdtempSync(join(tmpdir(), 'anneal-manifests-'))
    after(() => rmSync(dir, { recursive: true }))
    /** A file of a ConfigMap, as a pod sees it. */
    const fileOf = (configMap: string, name: string) => {
      writeFileSync(join(dir, name), settingsOf(configMap)[name] ?? assert.fail(`no ${name}`))
      return join(dir, name)
    }
    const podTemplates = fileOf('anneal-pod-templates', 'pod-templates.yaml')
    const catalogue = fileOf('anneal-catalogue', 'models.json')

    test('the settings are those that the code reads, and with the Secret they are enough', () => {
      const settings = settingsOf('anneal-config')
      const named = podSpecs(manifests)
        .flatMap(({ spec }) => [...spec.containers, ...(spec.initContainers ?? [])])
        .flatMap(({ env = [] }) => env.map(({ name }) => name))
      for (const name of [...Object.keys(settings), ...Object.keys(secrets), ...named])
        assert.ok(isKnownSetting(name), `src/config does not know ${name}`)
      const { address, namespace } = readTemporalConfig(settings)
      assert.deepEqual([address, namespace], [settings['TEMPORAL_ADDRESS'], settings['TEMPORAL_NAMESPACE']])
      const config = readConfig({
        ...settings,
        ...secrets,
        ANNEAL_CATALOGUE: catalogue,
      })
      assert.deepEqual(tooWide(config.trustedProxies), [], 'a pod could choose the address that is counted')
      assert.equal(config.internalUrl, 'http://anneal-internal.anneal.svc.cluster.local:8081')
      const compute = readKubernetesConfig({
        ...settings,
        ANNEAL_POD_TEMPLATES: podTemplates,
      })
      assert.equal(compute.namespace, 'anneal-runs')
      assert.equal(compute.queue?.queue, all('LocalQueue')[0]?.metadata.name)
    })

    test('no more attempts have a slot than the queue admits: waiting there is first come, first served', () => {
      const settings = settingsOf('anneal-config')
      const { slots } = readKubernetesConfig({ ...settings, ANNEAL_POD_TEMPLATES: podTemplates })
      // The tests' own cluster is shared by no accounts.
      if (overlay === 'test') return assert.equal(slots, null)
      const { resourceGroups } = (all('ClusterQueue')[0] ?? assert.fail('no queue')).spec as unknown as ClusterQueue
      const quotas = resourceGroups.flatMap(({ flavors }) => flavors.flatMap(({ resources }) => resources))
      const quota = (name: string) => parseInt(quotas.find((each) => each.name === name)?.nominalQuota ?? '')
      const { cpuCount, memoryGiB, gpuCount } = parseCatalogue(JSON.parse(readFileSync(catalogue, 'utf8')))
        .defaultCompletionModel.resources
      const admitted = [quota('cpu') / cpuCount, quota('memory') / memoryGiB, quota(gpuResource) / gpuCount]
      assert.ok(
        slots !== null && slots > 0 && slots <= Math.min(...admitted),
        `${slots} slots, admitted: ${admitted.join()}`,
      )
    })

    test('no run of its pod templates would be refused by the restricted standard, and SIGTERM reaches each', () => {
      const text = settingsOf('anneal-pod-templates')['pod-templates.yaml'] ?? ''
      const templates = parsePodTemplates(loadYaml(text))
      for (const program of ['trainer', 'model-server'] as const)
        for (const model of [undefined, ...Object.keys(templates.models)]) {
          const named = { ...run, ...(model !== undefined && { model }) }
          const pods = { templates, gpuResource, instance: 'anneal' }
          const pod = program === 'trainer' ? trainerTemplate(named, pods) : modelServerTemplate(named, pods)
          const spec = pod.spec as unknown as PodSpec
          assert.deepEqual(violations(spec), [], `${program} of ${model}`)
          const [main] = spec.containers
          assert.equal(main?.securityContext?.['readOnlyRootFilesystem'], true)
          assert.equal(main.command?.[0], 'tini', 'Python as process 1 is deaf until its handler is there')
          assert.match(main.image, /:[\w.-]+$/)
        }
      const ofGrader = { name: 'python-grader-1', accountId: 'a', imageTag: newestTag, tokenSha256: 'x', idleMs: 1 }
      const grader = graderPodManifest(ofGrader, { templates, instance: 'anneal' })?.spec as unknown as PodSpec
      assert.deepEqual(violations(grader), [], 'no image for the newest packages, or a pod that is not restricted')
    })
  })
}

suite('the guide', () => {
  test('the alerts read only numbers that the code has, and each has its line in the guide', () => {
    const [rules] = filesAsTheyLie()
      .flatMap(({ manifests }) => manifests)
      .filter(({ kind }) => kind === 'PrometheusRule') as [Manifest]
    const { groups } = rules.spec as { groups: { rules: { alert: string; expr: string }[] }[] }
    const ours = ['src/internal-http/backlog-metrics.ts', 'src/worker-health.ts', 'src/http/kit/metrics.ts']
    const code = ours.map(readText).join('\n')
    const guide = readText('docs/operations.md')
    for (const { alert, expr } of groups.flatMap((group) => group.rules)) {
      for (const [metric] of expr.matchAll(/\banneal_\w+/g))
        assert.match(code, new RegExp(`'${metric.replace(/_(count|sum|bucket)$/, '')}'`), `${alert}: ${metric}`)
      assert.match(guide, new RegExp(`^\\| \`${alert}\` \\|`, 'm'), `${alert} has no line in docs/operations.md`)
    }
  })

  test('the guide names every secret that the operator has to give', () => {
    const guide = readText('docs/operations.md')
    for (const name of Object.keys(secrets)) assert.ok(guide.includes(name), name)
  })
})
