// Records of jobs come from outside: each fault is refused by its line, before anything is written.
import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { checkRecord } from '../../../src/services/moving/record-lines.ts'

const event = (more: object = {}) => ({
  ...{ type: 'event', at: '2026-11-01T00:00:00.000Z', kind: 'note', status: null, attempt: null },
  ...{ reason: null, message: 'a note', actor: 'workflow', ...more },
})
const answer = (index: number, more: object = {}) => ({
  ...{ type: 'evaluation', index, split: 'held_out', input: 'a', expected: 'b', tuned: 'b', base: 'c' },
  ...{ prefersChosen: null, item: null, samples: null, scores: null, ...more },
})
const checkBytes = (bytes: Buffer) => checkRecord(Readable.from([bytes]))
const check = (...lines: (object | string)[]) =>
  checkBytes(
    Buffer.from(['{}', ...lines.map((line) => (typeof line === 'string' ? line : JSON.stringify(line)))].join('\n')),
  )

test('a record of events and answers is taken', () => check(event(), answer(0), answer(2)))

test('a record that the database could not take is refused in words', async () => {
  await assert.rejects(check(answer(1), answer(1)), /names evaluation 1 twice/)
  await assert.rejects(
    check(event({ message: 'a\0b' })),
    /Line 2 of the record holds the character NUL or a lone surrogate/,
  )
  for (const item of [{ a: '\ud83d' }, { '\udc00': 1 }])
    await assert.rejects(check(answer(0, { item })), /holds the character NUL or a lone surrogate/)
  await check(event({ message: String.raw`a\u0000b \ud83d` }), event({ message: '\u{1f600} \uffff' }))
  await assert.rejects(
    checkBytes(Buffer.from([...Buffer.from('{}\n"'), 0xff, 0x22])),
    /Line 2 of the record is no UTF-8/,
  )
  await assert.rejects(check(JSON.stringify(answer(0, { item: { a: 7 } })).replace('7', '1e400')), /item\.a/)
  const deep = JSON.stringify(answer(0)).replace(
    '"scores":null',
    `"scores":${'{"a":'.repeat(20_000)}1${'}'.repeat(20_000)}`,
  )
  await assert.rejects(check(deep), /nested too deep/)
  for (const at of ['0000-01-01T00:00:00Z', '9999-01-01T00:00:00Z'])
    await assert.rejects(check(event({ at })), /must be a time from 2000 until now/)
  await assert.rejects(check('x'.repeat(2 ** 20 + 1)), /more than 1048576 bytes/)
})

test('the figures of an answer have the form in which pages read them', async () => {
  await check(
    answer(0, { scores: { tuned: { same: 1 }, base: { same: null } }, prefersChosen: { tuned: true, base: false } }),
  )
  for (const [name, value] of [
    ['scores', { tuned: { same: 'x' }, base: {} }],
    ['scores', { tuned: { same: 1 } }],
    ['prefersChosen', { tuned: 1, base: 0 }],
    ['samples', { tuned: { finish_reason: 'x' }, base: { finish_reason: 'stop' } }],
  ] as const)
    await assert.rejects(
      check(answer(0, { [name]: value })),
      new RegExp(`Line 2 of the record is not as expected: ${name}`),
    )
})
