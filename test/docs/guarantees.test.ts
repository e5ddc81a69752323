// The list of guarantees names tests by file and name: one that was renamed or removed takes its proof with it.
import assert from 'node:assert/strict'
import { existsSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'

const root = join(import.meta.dirname, '../..')
const read = (path: string) => readFileSync(join(root, path), 'utf8')
const section = read('docs/reliability.md').split('\n## Guarantees')[1]?.split('\n## ')[0] ?? ''

test('every guarantee names its tests', () => {
  const numbers = [...section.matchAll(/^\*\*(\d+)\. /gm)].map((match) => Number(match[1]))
  assert.deepEqual(
    numbers,
    Array.from({ length: 11 }, (_, index) => index + 1),
  )
  for (const guarantee of section.split(/^\*\*\d+\. /m).slice(1)) assert.match(guarantee, /^- `/m)
})

test('every test that proves a guarantee exists', () => {
  const named = [...section.matchAll(/^- `([^`]+)`: (.+)$/gm)].map(([, path = '', name = '']) => ({ path, name }))
  assert(named.length > 30)
  const missing = named.filter(({ path, name }) => !existsSync(join(root, path)) || !names(path, name))
  assert.deepEqual(missing, [], 'name the test that took its place in docs/reliability.md')
})

/** As a declaration, not somewhere in a text: of a test, or of a case that several tests run. */
function names(path: string, name: string): boolean {
  if (path.endsWith('.py')) return read(path).includes(`def ${name}(`)
  const [suite, test] = name.includes(' › ') ? name.split(' › ') : [null, name]
  const source = read(path)
  const isDeclared = source.includes(`test('${test}'`) || source.includes(`\n  '${test}': async (`)
  return isDeclared && (suite === null || source.includes(`('${suite}'`))
}
