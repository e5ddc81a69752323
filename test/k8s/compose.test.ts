// docker-compose.yml without an engine: pinned, watched, and of settings that the code reads.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parse } from 'yaml'
import { dynamicConfig } from '../../src/embedded/temporal.ts'
import { root } from '../../tools/paths.mjs'
import { isKnownSetting } from './known-settings.ts'

type Service = {
  image: string
  build?: { target: string }
  environment?: Record<string, string>
  healthcheck?: object
  restart?: string
  depends_on?: Record<string, { condition: string }>
}

const readText = (path: string) => readFileSync(join(root, path), 'utf8')
const { services, configs } = parse(readText('docker-compose.yml'), { merge: true }) as {
  services: Record<string, Service>
  configs: Record<string, { content: string }>
}
const all = Object.entries(services)

test('every image has a version', () => {
  for (const [name, { image }] of all) assert.match(image, /:v?\d+\.\d+\.\d+/, name)
})

test('our own are targets of the Dockerfile, with settings that the code reads', () => {
  const targets = readText('Dockerfile')
  for (const [name, { build, environment = {} }] of all) {
    if (!build) continue
    assert.ok(targets.includes(` AS ${build.target}\n`), name)
    for (const variable of Object.keys(environment)) assert.ok(isKnownSetting(variable), `${name}: ${variable}`)
  }
})

test('accounts take turns in Temporal, as on the embedded stack', () => {
  const settings = Object.entries(
    parse(configs['temporal-settings']?.content ?? '') as Record<string, [{ value: boolean }]>,
  )
  assert.deepEqual(
    settings.map(([name, value]) => `${name}=${value[0].value}`),
    dynamicConfig,
  )
})

test('every service has a health check, and its dependants wait until it is healthy', () => {
  for (const [name, { healthcheck, restart, depends_on = {} }] of all) {
    assert.ok(healthcheck ?? (restart === 'on-failure' || name === 'temporal-ui'), name)
    for (const [other, { condition }] of Object.entries(depends_on)) {
      const runsOnce = services[other]?.restart === 'on-failure'
      assert.equal(condition, runsOnce ? 'service_completed_successfully' : 'service_healthy', `${name}: ${other}`)
    }
  }
})
