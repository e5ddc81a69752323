// The operators' page names chapters of the documentation.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'

const text = (path: string) => readFileSync(join(root, path), 'utf8')

test('every chapter that the page links to is in its file', () => {
  const links = [...text('console/src/operator/page.tsx').matchAll(/<Docs page="([^"]+)" chapter="([^"]+)"/g)]
  assert.ok(links.length >= 6)
  for (const [, page = '', chapter = ''] of links)
    assert.ok(text(`docs/${page}.md`).includes(`\n## ${chapter}\n`), `${page}.md has no chapter "${chapter}"`)
})
