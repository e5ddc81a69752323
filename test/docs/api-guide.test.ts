// docs/api-guide.md and docs/openai.md have a command for each route.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { startPublic } from '../http/support.ts'

const guide = ['api-guide', 'openai'].map((name) => readFileSync(join(root, `docs/${name}.md`), 'utf8')).join('\n')
const commands = [...guide.matchAll(/^```sh\n(.*?)^```$/gms)]
  .map(([, block = '']) => block)
  .join('\n')
  .replaceAll('\\\n', ' ')
  .split('\n')

test('every route of the service has its command', async () => {
  const edge = await startPublic()
  const { json } = await edge.call('GET', '/openapi.json', { key: null })
  const { paths } = json as { paths: Record<string, Record<string, unknown>> }
  const missing = Object.entries(paths).flatMap(([path, methods]) =>
    Object.keys(methods)
      .filter((method) => !hasCommand(method, path))
      .map((method) => `${method} ${path}`),
  )
  assert.deepEqual(missing, [])
})

function hasCommand(method: string, path: string): boolean {
  const address = new RegExp(`"\\$URL${path.replaceAll('.', '\\.').replaceAll(/\{\w+\}/g, '[^/"?]+')}/?(\\?[^"]*)?"`)
  return commands.some((line) => address.test(line) && methodOf(line) === method)
}

function methodOf(line: string): string {
  const [, given] = /-X (\w+)/.exec(line) ?? []
  return given?.toLowerCase() ?? (/ (-d|-F) /.test(line) ? 'post' : 'get')
}
