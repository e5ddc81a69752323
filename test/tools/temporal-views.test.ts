import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { runInNewContext } from 'node:vm'
import { root } from '../../tools/paths.mjs'
import { snippetOf, viewsAndColumns } from '../../tools/temporal-views.ts'
import { searchAttributes } from '../../workflows/contract.ts'

const page = readFileSync(join(root, 'docs/operations.md'), 'utf8')
const parts = viewsAndColumns(page, new Date('2026-12-05T12:00:00Z'))

test('the page gives views that the Temporal UI takes, with the dates of today and of a week ago', () => {
  assert.ok(parts.views.length >= 7)
  for (const { name } of parts.views) assert.match(name, /^[A-Za-z0-9](?:[\w .-]*\w)?$/, name)
  const queries = parts.views.map(({ query }) => query).join('\n')
  assert.match(queries, /CloseTime > '2026-12-05T/)
  assert.match(queries, /StartTime < '2026-11-28T/)
  assert.doesNotMatch(queries, /2027|ACCOUNT/)
})

test('the columns are those of the UI and our search attributes', () => {
  const known = ['Status', 'Workflow ID', 'Start', 'End', ...Object.values(searchAttributes).map(({ name }) => name)]
  assert.deepEqual(
    parts.columns.map(({ label }) => label).filter((label) => !known.includes(label)),
    [],
  )
  assert.ok(parts.columns.some(({ label }) => label === 'AnnealReason'))
})

test('the printed script keeps the views of the operator, and a repeat doubles none', () => {
  const kept = new Map([['saved-workflow-queries', '{"default":[{"id":"1","name":"mine"}],"other":[{"id":"2"}]}']])
  const localStorage = {
    getItem: (key: string) => kept.get(key) ?? null,
    setItem: (key: string, value: string) => void kept.set(key, value),
  }
  for (const _ of [1, 2])
    runInNewContext(snippetOf(parts, 'default'), { localStorage, console: { log: () => undefined } })
  const saved = JSON.parse(kept.get('saved-workflow-queries') ?? '') as Record<string, { name?: string }[]>
  assert.deepEqual(
    saved['default']?.map(({ name }) => name),
    ['mine', ...parts.views.map(({ name }) => name)],
  )
  assert.deepEqual(saved['other'], [{ id: '2' }])
  assert.deepEqual(JSON.parse(kept.get('namespace-workflow-table-columns') ?? ''), { default: parts.columns })
})
