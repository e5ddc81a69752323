// The chart is the source of all manifests: what is made from it is up to date, and each example of values can be installed.
import assert from 'node:assert/strict'
import { execFileSync, spawnSync } from 'node:child_process'
import { existsSync, globSync, readFileSync } from 'node:fs'
import { basename, join } from 'node:path'
import { suite, test } from 'node:test'
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

const podSpecsWithMetadata = (manifests: Manifest[]) =>
  manifests.filter(({ kind }) => kind === 'Deployment').map(({ spec }) => spec['template'])
