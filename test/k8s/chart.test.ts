// The chart is the source of all manifests: what is made from it is up to date, and each example of values can be installed.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { suite, test } from 'node:test'
import { loadYaml } from '@kubernetes/client-node'
import { parsePodTemplates } from '../../src/compute/kubernetes/pods/pod-template-file.ts'
import { references, rendered } from '../../tools/chart.ts'
import { root } from '../../tools/paths.mjs'
import { helmPath } from '../lab/cluster/build-helm.mjs'
import { parse, podSpecs, type Manifest } from './manifests.ts'
import { violations } from './restricted.ts'

const skip = !existsSync(helmPath) && 'helm is missing: npm run chart builds it'
const k8s = join(root, 'k8s')
const chart = join(k8s, 'chart')
const readText = (path: string) => readFileSync(join(k8s, path), 'utf8')
const examples = globSync('values/*.yaml', { cwd: k8s })
  .map((path) => basename(path, '.yaml'))
  .filter((name) => name !== 'components')

const helm = (...args: string[]) => execFileSync(helmPath, args, { encoding: 'utf8', maxBuffer: 64 << 20 })
const valuesOf = (example: string) => ['--values', join(k8s, `values/${example}.yaml`)]
const template = (release: string, example: string, ...more: string[]): Manifest[] =>
  parse(helm('template', release, chart, '--namespace', release, ...valuesOf(example), ...more))

test('the schema and the README are those of values.yaml: npm run chart', () => {
  for (const [path, text] of Object.entries(references())) assert.equal(readText(path), text, path)
})

test('base, components and overlays are those of the chart: npm run chart', { skip }, () => {
  for (const [path, text] of Object.entries(rendered(helmPath))) assert.equal(readText(path), text, path)
})

test('the chart has the version of the package', () => {
  const { version } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8')) as { version: string }
  const text = readText('chart/Chart.yaml')
  assert.ok(text.includes(`\nversion: ${version}\n`) && text.includes(`\nappVersion: ${version}\n`))
})

for (const example of examples)
  suite(`k8s/values/${example}.yaml`, { skip }, () => {
    test('helm lint finds nothing, and the schema allows it', () => {
      helm('lint', chart, '--strict', '--quiet', '--namespace', 'anneal', ...valuesOf(example))
    })

    test('gives the same objects each time, all with the labels of their release', () => {
      const first = template('anneal', example)
      assert.deepEqual(template('anneal', example), first)
      const wanted = ['name', 'instance', 'version', 'component', 'managed-by'].map(
        (name) => `app.kubernetes.io/${name}`,
      )
      const named = first.filter(({ metadata }) => metadata.name !== 'operator-to-api')
      for (const { kind, metadata } of named)
        for (const label of wanted) assert.ok(metadata.labels?.[label], `${kind} ${metadata.name}: ${label}`)
    })

    test('no pod would be refused by the restricted standard', () => {
      for (const { name, spec } of podSpecs(template('anneal', example))) assert.deepEqual(violations(spec), [], name)
    })

    test('two installations share no object', () => {
      const key = ({ kind, metadata }: Manifest) => `${kind} ${metadata.namespace ?? ''}/${metadata.name}`
      const blue = new Set(template('blue', example).map(key))
      const green = template('green', example).map(key)
      // The tests' own policy, as it stands in the values.
      assert.deepEqual(
        green.filter((each) => blue.has(each)),
        example === 'test' ? ['NetworkPolicy anneal/operator-to-api'] : [],
      )
    })
  })

suite('values', { skip }, () => {
  const refused = (...set: string[]) => {
    const args = [
      'template',
      'anneal',
      chart,
      ...valuesOf('production'),
      ...set.flatMap((each) => ['--set-json', each]),
    ]
    const { status, stderr } = spawnSync(helmPath, args, { encoding: 'utf8' })
    assert.equal(status, 1, set.join())
    return stderr
  }

  test('that are unknown or wrong are refused by name', () => {
    assert.match(refused('replicaCount=3'), /replicaCount/)
    assert.match(refused('image.digest="sha256:abc"'), /image.digest/)
    assert.match(refused('api.replicas="two"'), /api.replicas/)
    assert.match(refused('config={"anneal_slots":"1"}'), /anneal_slots/)
    assert.match(refused('temporal.address=""'), /temporal.address/)
  })

  test('a large number stays a number', () => {
    const settings = template('anneal', 'production', '--set-json', 'config={"ANNEAL_MAX_ROW_MIB":123456789}')
      .filter(({ kind }) => kind === 'ConfigMap')
      .map(({ data }) => data?.['ANNEAL_MAX_ROW_MIB'])
    assert.ok(settings.includes('123456789'))
  })

  test('a changed setting restarts the pods, and nothing else does', () => {
    const pods = (...more: string[]) => JSON.stringify(podSpecsWithMetadata(template('anneal', 'production', ...more)))
    assert.notEqual(pods(), pods('--set', 'config.LOG_LEVEL=debug'))
    assert.equal(pods(), pods('--set', 'monitoring.enabled=false'))
  })
})

test('a platform that chooses users does so for api, worker, and the pods of runs', { skip }, () => {
  const manifests = template('anneal', 'openshift')
  for (const { name, spec } of podSpecs(manifests)) assert.equal(spec.securityContext?.['runAsUser'], undefined, name)
  const file = manifests.map(({ data }) => data?.['pod-templates.yaml']).find((text) => text !== undefined) ?? ''
  const templates = parsePodTemplates(loadYaml(file))
  for (const program of ['trainer', 'model-server', 'python-grader'] as const)
    assert.match(JSON.stringify(templates[program]), /"runAsUser":null/, program)
})

suite('containers', { skip }, () => {
  const containersOf = (manifests: Manifest[]) =>
    podSpecs(manifests).flatMap(({ name, spec }) =>
      [...(spec.initContainers ?? []), ...spec.containers].map((container) => ({ pod: name, ...container })),
    )
  const settings = template(
    'anneal',
    'production',
    '--set-json',
    'worker.extraEnv=[{"name":"PGSSLROOT","value":"/ca"}]',
  )

  test('get the user who changes the schema only where they migrate', () => {
    const having = containersOf(settings).filter((each) => JSON.stringify(each).includes('anneal-migrate'))
    assert.deepEqual(new Set(having.map(({ name }) => name)), new Set(['migrate']))
    assert.equal(having.length, 3)
  })

  test('of the worker and the bootstrap get the same extra environment, those that migrate and register too', () => {
    const having = containersOf(settings).filter((each) => JSON.stringify(each).includes('PGSSLROOT'))
    assert.deepEqual(having.map(({ name }) => name).toSorted(), [
      'bootstrap',
      'migrate',
      'migrate',
      'register',
      'worker',
    ])
  })

  test('of api and worker get a token for the STS, and may reach it', () => {
    const sts = 'store.webIdentity={"enabled":true,"stsEndpoint":"https://minio.example.com:9443"}'
    const keyless = template('anneal', 'production', '--set-json', sts)
    const having = containersOf(keyless).filter((each) => JSON.stringify(each).includes('/etc/anneal/web-identity'))
    assert.deepEqual(having.map(({ name }) => name).toSorted(), ['api', 'worker'])
    const policy = keyless.find(({ metadata }) => metadata.name === 'to-store-credentials')
    assert.deepEqual(policy?.spec['egress'], [{ ports: [{ port: 9443 }] }])
  })
})

test('a changed pod of the bootstrap is another Job, because the template of a Job cannot change', { skip }, () => {
  const nameOf = (...more: string[]) =>
    template('anneal', 'production', ...more).find(({ kind }) => kind === 'Job')?.metadata.name
  const changes = [
    'image.tag=0.2.0',
    'commonLabels.team=ml',
    'worker.nodeSelector.pool=cpu',
    'migrate.resources.limits.cpu=1',
  ]
  const names = [nameOf(), ...changes.map((change) => nameOf('--set', change))]
  assert.equal(new Set(names).size, changes.length + 1)
})

const podSpecsWithMetadata = (manifests: Manifest[]) =>
  manifests.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec['template'])
