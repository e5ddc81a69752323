// The real helm installs the chart twice side by side, upgrades it, rolls it back and uninstalls it, and nothing is left. The
// pods find no images here: product/ runs the same manifests with images.
import assert from 'node:assert/strict'
import { after, before, describe, test } from 'node:test'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { kubectl as kubectlPath } from '../../k8s/manifests.ts'
import { buildHelm } from './build-helm.mjs'
import { output } from './programs.ts'
import { cluster, until } from './support/cluster.ts'

const chart = join(root, 'k8s/chart')
const helmPath = await buildHelm()
const releases = ['blue', 'green']
/** All that the chart makes, and the releases that helm keeps. */
const kinds =
  'deployments,jobs,pods,services,serviceaccounts,configmaps,secrets,roles,rolebindings,networkpolicies,' +
  'poddisruptionbudgets,resourcequotas,limitranges,persistentvolumeclaims,namespaces'

const helm = (...args: string[]) => output(helmPath, [...args, '--kubeconfig', cluster.kubeconfig])
const kubectl = (...args: string[]) => output(kubectlPath ?? 'kubectl', ['--kubeconfig', cluster.kubeconfig, ...args])
const put = (release: string, verb: 'install' | 'upgrade', values: string, ...more: string[]) => {
  const file = join(root, `k8s/values/${values}.yaml`)
  return helm(verb, release, chart, '--namespace', release, '--values', file, ...more)
}
const slotsOf = (release: string) =>
  kubectl('-n', release, 'get', 'configmap', `${release}-anneal-config`, '-o', 'jsonpath={.data.ANNEAL_SLOTS}')
const objectsOf = async (release: string) => {
  const names = await kubectl('get', kinds, '-A', '-l', `app.kubernetes.io/instance=${release}`, '-o', 'name')
  return names.split('\n').filter((name) => name !== '')
}
/** Helm waits for the Deployments, and their pods end after them. */
const untilGone = (release: string) =>
  until(`nothing of ${release} is left`, async () => (await objectsOf(release)).length === 0)

/** Definitions of kinds whose operators are not here. They take any fields, so the test covers that all others are valid. */
const elsewhere = {
  'monitoring.coreos.com/v1': ['ServiceMonitor', 'PodMonitor', 'PrometheusRule'],
  'gateway.networking.k8s.io/v1': ['HTTPRoute'],
  'cert-manager.io/v1': ['Certificate'],
  'external-secrets.io/v1': ['ExternalSecret'],
}
const definitions = Object.entries(elsewhere).flatMap(([at, names]) => {
  const [group = '', version = ''] = at.split('/')
  return names.map((kind) => {
    const plural = `${kind.toLowerCase()}s`
    const schema = { openAPIV3Schema: { type: 'object', 'x-kubernetes-preserve-unknown-fields': true } }
    return {
      apiVersion: 'apiextensions.k8s.io/v1',
      kind: 'CustomResourceDefinition',
      // The API server lets only approved definitions into groups of Kubernetes' own.
      metadata: { name: `${plural}.${group}`, annotations: { 'api-approved.kubernetes.io': 'unapproved, for a test' } },
      spec: {
        ...{ group, scope: 'Namespaced', names: { kind, plural } },
        versions: [{ name: version, served: true, storage: true, schema }],
      },
    }
  })
})
const names = definitions.map(({ metadata }) => `crd/${metadata.name}`)

before(async () => {
  const list = JSON.stringify({ apiVersion: 'v1', kind: 'List', items: definitions })
  const args = ['--kubeconfig', cluster.kubeconfig, 'apply', '--filename', '-']
  await output(kubectlPath ?? 'kubectl', args, { input: list })
  await kubectl('wait', '--for=condition=Established', ...names)
})
after(() => kubectl('delete', ...names))

for (const values of ['production', 'gateway', 'openshift', 'trial'])
  test(`k8s/values/${values}.yaml: the API server takes every object`, async () => {
    await put('dry', 'install', values, '--create-namespace', '--dry-run=server')
  })

describe('two installations in one cluster', () => {
  before(() => Promise.all(releases.map((release) => put(release, 'install', 'trial', '--create-namespace'))))
  after(() => Promise.all(releases.map((release) => kubectl('delete', 'namespace', release, '--ignore-not-found'))))

  test('have their own objects', async () => {
    for (const release of releases) assert.ok((await objectsOf(release)).includes(`namespace/${release}-runs`))
  })

  test('are upgraded and rolled back one by one', async () => {
    await put('blue', 'upgrade', 'trial', '--set', 'slots=3')
    assert.deepEqual(await Promise.all(releases.map(slotsOf)), ['3', ''])
    await helm('rollback', 'blue', '1', '--namespace', 'blue')
    assert.equal(await slotsOf('blue'), '')
  })

  test('leave nothing after their end', async () => {
    await helm('uninstall', 'blue', '--namespace', 'blue', '--wait', '--timeout', '2m')
    await untilGone('blue')
    assert.equal(await kubectl('-n', 'blue', 'get', 'secrets,persistentvolumeclaims', '-o', 'name'), '')
    assert.ok((await objectsOf('green')).length > 20)
    await helm('uninstall', 'green', '--namespace', 'green', '--wait', '--timeout', '2m')
    await untilGone('green')
  })
})
