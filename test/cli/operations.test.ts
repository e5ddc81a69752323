// docs/cli.md names each operation of the API, with its command or the reason why it has none.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { verbsOf } from '../../src/cli/command.ts'
import { commands } from '../../src/cli/commands.ts'
import { commandOfRoute } from '../../src/cli/remote/command-of-route.ts'
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

test('errors name the command that the page names for the route', () => {
  const routes = rows.flatMap(({ routes: all, command }) =>
    command === null ? [] : all.map((route) => ({ route, command })),
  )
  const exact = routes.filter(({ route }) => !route.includes('*'))
  assert.ok(exact.length > 30)
  assert.deepEqual(
    exact.filter(({ route, command }) => commandOfRoute[route]?.split(' ')[1] !== command),
    [],
    'src/cli/remote/command-of-route.ts and docs/cli.md differ',
  )
})

test('each command that errors name exists with its verb', async () => {
  for (const named of new Set(Object.values(commandOfRoute))) {
    const [, name = '', verb = ''] = named.split(' ')
    const { command } = (await commands[name]?.load()) ?? assert.fail(named)
    assert.ok(verb.startsWith('--') || Object.hasOwn(verbsOf(command), verb), named)
  }
})
