// The manifests without a cluster: what they build to, and what they allow.
import { loadAllYaml } from '@kubernetes/client-node'
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { workerRights } from '../../src/compute/kubernetes/doctor/rights.ts'
import { resourceFields } from '../../src/compute/kubernetes/pods/container-fields.ts'
import { root } from '../../tools/paths.mjs'
import { filesAsTheyLie, overlays, podSpecs, render } from './manifests.ts'
import { violations } from './restricted.ts'

const readText = (path: string) => readFileSync(join(root, path), 'utf8')

for (const overlay of overlays) {
  suite(`k8s/overlays/${overlay}`, () => {
    const manifests = render(overlay)
    const all = (kind: string) => manifests.filter((manifest) => manifest.kind === kind)
    const one = (kind: string, name: string) => {
      const found = all(kind).filter(({ metadata }) => metadata.name.startsWith(name))
      return found[0] ?? assert.fail(`no ${kind} ${name}`)
    }

    test('no pod would be refused by the restricted standard', () => {
      const pods = podSpecs(manifests)
      const names = pods.map(({ name }) => name.replace(/-[0-9a-f]{8}$/, '')).toSorted()
      assert.deepEqual(names, ['anneal-api', ...(overlay === 'test' ? [] : ['anneal-bootstrap']), 'anneal-worker'])
      for (const { name, spec } of pods) assert.deepEqual(violations(spec), [], name)
    })

    test('root file systems are read-only, and every container has its share named', () => {
      for (const { spec } of podSpecs(manifests))
        for (const container of [...spec.containers, ...(spec.initContainers ?? [])]) {
          assert.equal(container.securityContext?.['readOnlyRootFilesystem'], true, container.name)
          assert.ok(container.resources?.requests?.['cpu'] && container.resources.limits?.['memory'], container.name)
        }
    })

    test('both namespaces enforce it', () => {
      for (const { metadata } of all('Namespace'))
        assert.equal(metadata.labels?.['pod-security.kubernetes.io/enforce'], 'restricted', metadata.name)
      assert.equal(all('Namespace').length, 2)
    })

    test('only the worker and the bootstrap have a token, with the reviewed rights', () => {
      const withToken = podSpecs(manifests).filter(({ spec }) => spec.automountServiceAccountToken !== false)
      const accounts = overlay === 'test' ? ['anneal-worker'] : ['anneal-bootstrap', 'anneal-worker']
      const named = withToken.map(({ spec }) => spec.serviceAccountName ?? '')
      assert.deepEqual(named.toSorted(), accounts)
      assert.deepEqual([all('ClusterRole'), all('ClusterRoleBinding')], [[], []])
      const worker = one('Role', 'anneal-worker')
      assert.equal(worker.metadata.namespace, 'anneal-runs')
      const rights = (worker.rules ?? []).flatMap(({ apiGroups, resources, verbs }) =>
        apiGroups.flatMap((group) => resources.map((resource) => [`${group}/${resource}`, verbs.join(' ')] as const)),
      )
      assert.deepEqual(Object.fromEntries(rights), workerRights)
      const others = all('Role').filter((role) => role !== worker)
      const ownSecret = {
        apiGroups: [''],
        resources: ['secrets'],
        resourceNames: ['anneal-first-key'],
        verbs: ['get', 'patch'],
      }
      for (const { rules } of others) assert.deepEqual(rules, [ownSecret])
    })

    test('every container that takes part is watched, and the worker has longer than its activities', () => {
      for (const { name, spec } of podSpecs(all('Deployment'))) {
        const [main] = spec.containers
        assert.ok(main?.startupProbe && main.livenessProbe && main.readinessProbe, name)
      }
      const grace = podSpecs([one('Deployment', 'anneal-worker')])[0]?.spec.terminationGracePeriodSeconds ?? 0
      const shutdown = /shutdownGraceTime: '(\d+) seconds'/.exec(readText('src/worker.ts'))?.[1]
      assert.ok(grace > 5 * Number(shutdown), `${grace} s against ${shutdown} s`)
    })

    test('a roll-out takes nothing away before its successor is ready', () => {
      for (const { spec, metadata } of all('Deployment')) {
        const { rollingUpdate } = spec['strategy'] as { rollingUpdate: Record<string, number> }
        assert.equal(rollingUpdate['maxUnavailable'], 0, metadata.name)
      }
    })

    test('denies all traffic that no policy allows, in both namespaces', () => {
      const denied = all('NetworkPolicy').filter(({ metadata }) => metadata.name === 'default-deny')
      assert.deepEqual(denied.map(({ metadata }) => metadata.namespace ?? '').toSorted(), ['anneal', 'anneal-runs'])
      for (const { spec } of denied) assert.deepEqual(spec, { podSelector: {}, policyTypes: ['Ingress', 'Egress'] })
    })

    test('a Python grader may open no connection, whatever other runs may', () => {
      const isGrader = { key: 'app.kubernetes.io/component', operator: 'NotIn', values: ['python-grader'] }
      for (const { metadata, spec } of all('NetworkPolicy')) {
        const { podSelector, policyTypes, egress } = spec as {
          podSelector: { matchExpressions?: { key: string }[]; matchLabels?: object }
          policyTypes: string[]
          egress?: unknown[]
        }
        if (metadata.namespace !== 'anneal-runs' || !policyTypes.includes('Egress') || !egress) continue
        if (podSelector.matchExpressions?.some(({ key }) => key === 'anneal.dev/nodes')) continue
        assert.deepEqual(podSelector, { matchExpressions: [isGrader] }, metadata.name)
      }
    })

    test('labels, ports and names fit each other', () => {
      for (const name of ['anneal-api', 'anneal-internal', 'anneal-admin']) {
        const { selector, ports } = one('Service', name).spec as {
          selector: Record<string, string>
          ports: { targetPort: string }[]
        }
        assert.deepEqual(selector, { 'app.kubernetes.io/name': 'anneal-api' })
        const { template } = one('Deployment', 'anneal-api').spec as {
          template: { spec: { containers: { ports: { name: string }[] }[] } }
        }
        const open = template.spec.containers[0]?.ports.map((port) => port.name)
        for (const { targetPort } of ports) assert.ok(open?.includes(targetPort), targetPort)
      }
    })
  })
}

suite('k8s', () => {
  test('no object names a folder of a node, holds a secret, or runs in a cluster-wide role', () => {
    for (const { file, manifests } of filesAsTheyLie()) {
      const text = JSON.stringify(manifests)
      assert.doesNotMatch(text, /hostPath|"privileged":true|ClusterRole"/, file)
      for (const { kind, data, stringData } of manifests)
        if (kind === 'Secret') assert.deepEqual([data, stringData], [undefined, undefined], file)
      for (const { name, spec } of podSpecs(manifests)) assert.deepEqual(violations(spec), [], `${file} ${name}`)
    }
  })
})

test('the queue of Kueue covers all that a pod of a run requests: Kueue admits no other pod', () => {
  type Queue = { kind: string; spec?: { resourceGroups?: { coveredResources: string[]; flavors: Flavor[] }[] } }
  type Flavor = { resources: { name: string }[] }
  const objects = loadAllYaml(readText('k8s/components/kueue/anneal.yaml')) as Queue[]
  const [group] = objects.find(({ kind }) => kind === 'ClusterQueue')?.spec?.resourceGroups ?? []
  const { requests } = resourceFields({ cpuCount: 1, memoryBytes: 1, diskBytes: 1, gpuCount: 1 }, 'nvidia.com/gpu')
  const requested = Object.keys(requests as object).toSorted()
  assert.deepEqual(group?.coveredResources.toSorted(), requested)
  for (const { resources } of group.flavors) assert.deepEqual(resources.map(({ name }) => name).toSorted(), requested)
})
