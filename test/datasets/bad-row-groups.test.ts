import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createBadRowGroups } from '../../src/datasets/bad-row-groups.ts'

test('bad rows count by field and reason, whatever the place in a list; reasons beyond fifty count together', () => {
  const groups = createBadRowGroups()
  for (let line = 1; line <= 60; line++)
    groups.add({ line, field: `messages[${line}].content`, reason: 'is not a string' })
  for (let line = 61; line <= 120; line++) groups.add({ line, field: 'row', reason: `is bad ${line}` })
  const found = groups.list()
  assert.deepEqual(found[0], {
    ...{ field: 'messages[].content', reason: 'is not a string', rowCount: 60 },
    lines: [1, 2, 3, 4, 5],
  })
  assert.deepEqual([found.length, found.at(-1)?.rowCount, found.at(-1)?.lines[0]], [51, 11, 110])
})

test('one bad row keeps the place in its list', () => {
  const groups = createBadRowGroups()
  groups.add({ line: 1, field: 'messages[0].role', reason: 'is unknown' })
  groups.add({ line: 2, field: 'messages[3].content', reason: 'is missing' })
  groups.add({ line: 3, field: 'messages[3].content', reason: 'is missing' })
  assert.deepEqual(
    groups.list().map(({ field }) => field),
    ['messages[0].role', 'messages[3].content'],
  )
})
