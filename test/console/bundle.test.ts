// The built console: its size, and what it may load.
import assert from 'node:assert/strict'
import { readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { gzipSync } from 'node:zlib'
import { root } from '../../tools/paths.mjs'

const dist = join(root, 'console/dist')
const files = readdirSync(join(dist, 'assets'))
const text = (path: string) => readFileSync(join(dist, path), 'utf8')
const kibibyte = 1024

const isOfOperators = (name: string) => name.startsWith('operator-')

function compressed(names: Iterable<string>): number {
  const scripts = [...names].filter((name) => name.endsWith('.js'))
  return scripts.reduce((sum, name) => sum + gzipSync(text(`assets/${name}`), { level: 9 }).length, 0) / kibibyte
}

/** The scripts that are loaded before these run: those that they import, but not those that they load later. */
function withImports(names: readonly string[], found = new Set<string>()): Set<string> {
  for (const name of names.filter((each) => !found.has(each))) {
    found.add(name)
    const imported = text(`assets/${name}`).matchAll(/(?:from|import)\s*["']\.\/([\w-]+\.js)["']/g)
    withImports(
      Array.from(imported, ([, file = '']) => file),
      found,
    )
  }
  return found
}

test('at most 130 KiB of compressed JavaScript come before the first page can be used', () => {
  const entries = Array.from(text('index.html').matchAll(/assets\/([\w-]+\.js)/g), ([, name = '']) => name)
  const firstView = files.filter((name) => /^jobs-.*\.js$/.test(name))
  assert.notEqual(firstView.length, 0)
  const size = compressed(withImports([...entries, ...firstView]))
  assert.ok(size > 0 && size <= 130, `${size.toFixed(1)} KiB`)
})

test('all JavaScript of the pages of users is at most 200 KiB when compressed', () => {
  const size = compressed(files.filter((name) => !isOfOperators(name)))
  assert.ok(size <= 200, `${size.toFixed(1)} KiB`)
})

test('a release has no page of components', () => {
  assert.ok(!files.some((name) => name.startsWith('components-')))
})

test('the page of operators adds little to the shared bundle', () => {
  const size = compressed(files.filter(isOfOperators))
  assert.ok(size > 0 && size <= 6, `${size.toFixed(1)} KiB`)
})

for (const name of ['index.html', 'operator.html'])
  test(`${name} holds no script or style, and names only its own files`, () => {
    const page = text(name)
    assert.doesNotMatch(page, /<style|style=|<script(?![^>]* src=)|https?:\/\//)
    for (const [, path = ''] of page.matchAll(/(?:src|href)="([^"]+)"/g))
      assert.match(path, /^\/console\/(assets\/|icon)/)
  })

test('the licences of its packages are kept beside it', () => {
  const licences = text('licenses.txt')
  for (const name of ['react', 'react-dom', 'uplot', '@tanstack/react-query'])
    assert.match(licences, new RegExp(`${name}\\b[^]*?(MIT|Unlicense)`, 'i'), name)
})
