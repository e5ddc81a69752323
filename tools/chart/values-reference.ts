// The schema and the README of the chart, from k8s/chart/values.yaml. A comment that begins with "--" describes a value; what
// has none is a group.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { isMap, isScalar, parseDocument, type Pair, type YAMLMap } from 'yaml'
import { root } from '../paths.mjs'

type Schema = Record<string, unknown>
type Value = { path: string; says: string; value: unknown }

const digest = { type: 'string', pattern: '^(sha256:[0-9a-f]{64})?$' }
const text = { type: ['string', 'number', 'boolean'] }
const dnsName = { type: 'string', pattern: '^([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)?$' }
const count = (least: number) => ({ type: 'integer', minimum: least })

/** What the default does not say. */
const rules: Record<string, Schema> = {
  'image.digest': digest,
  'runtimeImage.digest': digest,
  'image.pullPolicy': { enum: ['', 'Always', 'IfNotPresent', 'Never'] },
  'api.service.type': { enum: ['ClusterIP', 'NodePort', 'LoadBalancer'] },
  'api.replicas': count(1),
  'worker.replicas': count(1),
  'api.autoscaling.minReplicas': count(1),
  'api.autoscaling.maxReplicas': count(1),
  'networkPolicies.dns.port': { ...count(1), maximum: 65535 },
  slots: { type: ['integer', 'null'], minimum: 1 },
  config: { propertyNames: { pattern: '^[A-Z][A-Z0-9_]*$' }, additionalProperties: text },
  'store.webIdentity.expirationSeconds': { ...count(600), maximum: 86_400 },
  'store.webIdentity.stsEndpoint': { type: 'string', pattern: '^(https?://\\S+)?$' },
  'secrets.migrateName': { ...dnsName, minLength: 1 },
  'bootstrap.secretName': { ...dnsName, minLength: 1 },
  'runs.namespace': dnsName,
  fullnameOverride: dnsName,
  'temporal.address': { type: 'string', pattern: '^([^\\s:/]+:[0-9]+)?$' },
  'store.endpoint': { type: 'string', pattern: '^(https?://\\S+)?$' },
  'runs.quota': { additionalProperties: text },
  'kueue.quotas': { additionalProperties: text },
}

/** An installation without a trial needs the addresses of Temporal and the store. */
const needed = {
  if: { properties: { trial: { properties: { enabled: { const: false } } } } },
  then: {
    properties: {
      temporal: { properties: { address: { minLength: 1 } } },
      store: { properties: { endpoint: { minLength: 1 } } },
    },
  },
}

export const schemaText = () =>
  `${JSON.stringify({ $schema: 'http://json-schema.org/draft-07/schema#', ...groupSchema(values(), ''), ...needed }, null, 2)}\n`

export function readmeText(): string {
  const rows = allValues(values(), '').map(
    ({ path, says, value }) => `| \`${path}\` | ${says.replaceAll('|', '\\|')} | ${defaultText(value)} |`,
  )
  const head = readFileSync(join(root, 'k8s/chart/README.head.md'), 'utf8')
  return `${head}\n## Values\n\n| Value | Meaning | Default |\n|---|---|---|\n${rows.join('\n')}\n`
}

const values = () =>
  parseDocument(readFileSync(join(root, 'k8s/chart/values.yaml'), 'utf8')).contents as unknown as YAMLMap

const pairsOf = (map: YAMLMap, prefix: string) =>
  (map.items as Pair[]).map((pair) => {
    const key = isScalar(pair.key) ? String(pair.key.value) : String(pair.key)
    const comment = isScalar(pair.key) ? (pair.key.commentBefore ?? '') : ''
    // The first key of a map has its comment at the map.
    const own = map.items[0] === pair ? (map.commentBefore ?? comment) : comment
    const says = /(?:^|\n)\s*-- ([\s\S]*)$/.exec(own)?.[1]?.trim()
    return { path: prefix + key, key, says, node: pair.value }
  })

function groupSchema(map: YAMLMap, prefix: string): Schema {
  const entries = pairsOf(map, prefix).map(({ path, key, says, node }) => [
    key,
    says === undefined && isMap(node)
      ? groupSchema(node, `${path}.`)
      : { ...(says !== undefined && { description: says }), ...typeOf(plain(node)), ...rules[path] },
  ])
  const properties = Object.fromEntries(entries) as Schema
  // Helm itself adds `global`.
  return {
    type: 'object',
    properties: { ...properties, ...(prefix === '' && { global: { type: 'object' } }) },
    additionalProperties: false,
  }
}

function allValues(map: YAMLMap, prefix: string): Value[] {
  return pairsOf(map, prefix).flatMap(({ path, says, node }) => {
    if (says !== undefined) return [{ path, says, value: plain(node) }]
    if (!isMap(node)) throw new Error(`k8s/chart/values.yaml: ${path} has no comment that begins with "--"`)
    return allValues(node, `${path}.`)
  })
}

const plain = (node: unknown): unknown => (node as { toJSON(): unknown } | null)?.toJSON() ?? null

function typeOf(value: unknown): Schema {
  if (Array.isArray(value)) return { type: 'array' }
  if (typeof value === 'number') return { type: 'number' }
  return value === null ? {} : { type: typeof value }
}

function defaultText(value: unknown): string {
  if (value === null || value === '') return ''
  return `\`${typeof value === 'string' ? value : JSON.stringify(value)}\``
}
