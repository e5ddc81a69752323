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

function compressed(names: string[]): number {
  const scripts = names.filter((name) => name.endsWith('.js'))
  return scripts.reduce((sum, name) => sum + gzipSync(text(`assets/${name}`), { level: 9 }).length, 0) / kibibyte
}

test('all JavaScript of the pages of users is at most 130 KiB when compressed', () => {
  const size = compressed(files.filter((name) => !isOfOperators(name)))
  assert.ok(size <= 130, `${size.toFixed(1)} KiB`)
})

test('the page of operators adds little to the shared bundle', () => {
  const size = compressed(files.filter(isOfOperators))
  assert.ok(size > 0 && size <= 4, `${size.toFixed(1)} KiB`)
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
