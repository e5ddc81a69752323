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

test('all JavaScript is at most 130 KiB when compressed', () => {
  const sizes = files
    .filter((name) => name.endsWith('.js'))
    .map((name) => gzipSync(text(`assets/${name}`), { level: 9 }).length)
  const total = sizes.reduce((sum, size) => sum + size, 0)
  assert.ok(total <= 130 * kibibyte, `${(total / kibibyte).toFixed(1)} KiB`)
})

test('its page holds no script or style, and names only its own files', () => {
  const page = text('index.html')
  assert.doesNotMatch(page, /<style|style=|<script(?![^>]* src=)|https?:\/\//)
  for (const [, path = ''] of page.matchAll(/(?:src|href)="([^"]+)"/g))
    assert.match(path, /^\/console\/(assets\/|icon)/)
})

test('the licences of its packages are kept beside it', () => {
  const licences = text('licenses.txt')
  for (const name of ['react', 'react-dom', 'uplot', '@tanstack/react-query'])
    assert.match(licences, new RegExp(`${name}\\b[^]*?(MIT|Unlicense)`, 'i'), name)
})
