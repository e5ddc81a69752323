// Every malformed row of the four methods is refused with its line, its field and a sentence, by the check that a job makes.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { createLimitWatch, defaultDatasetLimits as limits } from '../../src/datasets/dataset-limits.ts'
import { validateRows } from '../../src/datasets/validate-rows.ts'
import type { MethodName } from '../../src/domain/method-table.ts'
import { malformed } from './support/malformed-rows.ts'

type Expected = { text: string; field: string; reason: string }
const methods = ['supervised', 'dpo', 'kto', 'reinforcement'] as const
const needs = { supervised: [], dpo: [], kto: [], reinforcement: [{ grader: 'right', name: 'item.answer' }] }
const objects = {
  supervised: '{"input": "...", "output": "..."}',
  dpo: '{"prompt": "...", "chosen": "...", "rejected": "..."}',
  kto: '{"prompt": "...", "completion": "...", "label": true}',
  reinforcement: '{"prompt": "..."}',
}

const halfCharacter = String.raw`contains half of a character, such as \ud83e: a text was cut within an emoji or a rare letter`

/** Lines that are no row of any method. */
const malformedLines = [
  ['{"prompt": "q"', 'is not valid JSON'],
  ['{"prompt": "q", "prompt": "r"}', 'has the key "prompt" twice, and only one of the values could be read'],
  [String.raw`{"prompt": "\ud83e"}`, halfCharacter],
  [`{"prompt": ${'['.repeat(101)}${']'.repeat(101)}}`, 'is nested more than 100 levels deep'],
  ["{'prompt': 'q'}", 'is not valid JSON'],
] as const

/** The row with `value` at `place`, such as `messages[0].content`. */
function changed(row: object, place: string, value: unknown): string {
  const copy = structuredClone(row) as Record<string, unknown>
  const keys = place.split(/[.[\]]+/).filter(Boolean)
  const last = keys.pop() ?? ''
  const inner = keys.reduce((at, key) => at[key] as Record<string, unknown>, copy)
  inner[last] = value
  return JSON.stringify(copy)
}

const expectedOf = (method: MethodName): Expected[] => [
  ...malformed
    .filter((group) => group.method === method)
    .flatMap(({ row, changes }) =>
      changes.map(([place, value, reason, field = place]) => ({ text: changed(row, place, value), field, reason })),
    ),
  ...malformedLines.map(([text, reason]) => ({ text, field: 'row', reason })),
  ...['7', '"q"', 'null', '["q", "a"]'].map((text) => ({
    text,
    field: 'row',
    reason: `is not an object such as ${objects[method]}`,
  })),
]

/** A report lists a hundred bad rows. */
const linesOfFile = 90

async function badRowsOf(method: MethodName, lines: readonly string[]) {
  // The first line tells that the file is of JSON lines; it is read as an empty row.
  const file = Buffer.from(['{}', ...lines].join('\n'))
  const reading = { limits, watch: createLimitWatch(limits), columns: null, method, needs: needs[method] }
  const check = await validateRows(one(file), reading)
  return check.report({ etag: '', sizeBytes: file.length }).badRows.slice(1)
}

// eslint-disable-next-line @typescript-eslint/require-await
async function* one(file: Buffer) {
  yield file
}

for (const method of methods)
  test(`refuses each malformed row of ${method} by line and field`, async () => {
    const expected = expectedOf(method)
    for (let from = 0; from < expected.length; from += linesOfFile) {
      const rows = expected.slice(from, from + linesOfFile)
      const found = await badRowsOf(
        method,
        rows.map(({ text }) => text),
      )
      const shown = (line: number, field: string, reason: string) =>
        `${line} ${rows[line - 2]?.text.slice(0, 120)}: ${field}: ${reason}`
      assert.deepEqual(
        found.map(({ line, field, reason }) => shown(line, field, reason)),
        rows.map(({ field, reason }, index) => shown(index + 2, field, reason)),
      )
    }
  })

test('the table has three hundred rows', () => {
  const rows = methods.flatMap((method) => expectedOf(method).map(({ text }) => `${method} ${text}`))
  assert.ok(new Set(rows).size >= 300, String(new Set(rows).size))
})
