// docs/cli.md names each operation of the API, with its command or the reason why it has none.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { root } from '../../tools/paths.mjs'
import { startPublic } from '../http/support.ts'

const page = readFileSync(join(root, 'docs/cli.md'), 'utf8')
const rows = [...page.matchAll(/^\| (`(?:[A-Z]+|\*) [^|]+) \| ([^|]+) \|$/gm)].map(([, routes = '', says = '']) => ({
  routes: [...routes.matchAll(/`([^`]+)`/g)].map(([, route = '']) => route),
  command: /^`anneal ([a-z]+)`$/.exec(says)?.[1] ?? null,
}))
const matches = (route: string) => {
  const pattern = route.replaceAll(/[.{}/]/g, '\\$&').replaceAll('*', '.*')
  return (operation: string) => new RegExp(`^${pattern}$`).test(operation)
}

test('each operation of the API has a command, or a line that says why not', async () => {
  const edge = await startPublic()
  const { json } = await edge.call('GET', '/openapi.json', { key: null })
  const operations = Object.entries((json as { paths: Record<string, object> }).paths).flatMap(([path, methods]) =>
    Object.keys(methods).map((method) => `${method.toUpperCase()} ${path}`),
  )
  const named = rows.flatMap(({ routes }) => routes).map((route) => ({ route, isNamed: matches(route) }))
  assert.deepEqual(
    operations.filter((operation) => !named.some(({ isNamed }) => isNamed(operation))),
    [],
    'add a line to docs/cli.md',
  )
  assert.deepEqual(
    named.filter(({ isNamed }) => !operations.some(isNamed)).map(({ route }) => route),
    [],
    'no such operation',
  )
})

test('each command that the page names exists', () => {
  const named = rows.flatMap(({ command }) => command ?? [])
  assert.ok(named.length >= 15)
  assert.deepEqual(
    named.filter((name) => !Object.hasOwn(commands, name)),
    [],
  )
})
