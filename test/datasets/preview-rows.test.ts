import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { previewRows } from '../../src/datasets/preview-rows.ts'
import type { Columns } from '../../src/domain/dataset-report.ts'
import type { Storage } from '../../src/storage/storage.ts'

const model = 'anneal-tiny'
const tokenizers = [
  { name: 'other', folder: 'models' },
  { name: model, folder: 'models/anneal-tiny' },
]
const asked = { key: 'key', model, pairs: null, columns: null, method: 'supervised' as const }
const storing = (file: Readable | null) => ({ read: () => Promise.resolve(file) }) as unknown as Storage

const lines = [
  JSON.stringify({ input: 'one', output: '1' }),
  '{"input": "two"',
  JSON.stringify({ prompt: 'three', completion: '' }),
  '',
  JSON.stringify({
    messages: [
      { role: 'user', content: 'four' },
      { role: 'assistant', content: '4' },
    ],
  }),
  JSON.stringify({ text: `${'é'.repeat(9999)}🦙` }),
].join('\n')

const preview = (page: { offset: number; limit: number }) =>
  previewRows(storing(Readable.from([Buffer.from(lines)])), { ...asked, ...page }, { tokenizers })

test('a preview shows rows of every format with their lines, and the reason of each bad one', async () => {
  const { rows, next } = (await preview({ offset: 0, limit: 10 })) ?? assert.fail()
  assert.deepEqual(
    rows.map(({ index, line, row, error }) => [index, line, row?.output.slice(0, 3), error?.field, error?.reason]),
    [
      [0, 1, '1', undefined, undefined],
      [1, 2, undefined, 'row', 'is not valid JSON'],
      [2, 3, undefined, 'completion', 'is empty'],
      [3, 5, '4', undefined, undefined],
      [4, 6, 'ééé', undefined, undefined],
    ],
  )
  assert.equal(next, null)
  assert.deepEqual(rows[3]?.messages, [
    { role: 'user', text: 'four', isLearned: false },
    { role: 'assistant', text: '4', isLearned: true },
  ])
  assert.deepEqual(rows[3]?.templated, {
    model: 'anneal-tiny',
    sequences: [
      [
        { text: '<s>Question: four\nAnswer: ', isLearned: false, special: [{ from: 0, to: 3 }] },
        { text: '4</s>', isLearned: true, special: [{ from: 1, to: 5 }] },
      ],
    ],
    error: null,
  })
  assert.deepEqual([rows[0]?.messages, rows[0]?.templated], [null, null])
  assert.deepEqual(
    rows.map(({ isCut }) => isCut),
    [false, false, false, false, true],
  )
  // The cut fell between the halves of a surrogate pair.
  assert.ok(rows[4]?.row?.output.isWellFormed())
})

test('a preview names the special tokens that act in the input of a pair', async () => {
  const pair = JSON.stringify({ input: '<s>one</s></s>', output: '</s>' })
  const text = JSON.stringify({ text: '<s>two</s>' })
  const file = storing(Readable.from([Buffer.from(`${pair}\n${text}`)]))
  const page = (await previewRows(file, { ...asked, offset: 0, limit: 2 }, { tokenizers })) ?? assert.fail()
  assert.deepEqual(
    page.rows.map(({ specialTokens }) => specialTokens),
    [['<s>', '</s>'], []],
  )
})

test('a preview for a model that learned conversations shows pairs as an evaluation asks for them', async () => {
  const shown = async (more: object) => {
    const file = storing(Readable.from([Buffer.from(lines)]))
    const page = await previewRows(file, { ...asked, offset: 0, limit: 1, ...more }, { tokenizers })
    return page?.rows[0]?.templated?.sequences.flat().map(({ text }) => text)
  }
  assert.deepEqual(await shown({ pairs: { system: null } }), ['<s>Question: one\nAnswer: ', '1</s>'])
  assert.deepEqual(await shown({ pairs: { system: 'Be brief.' } }), ['<s>Be brief.\nQuestion: one\nAnswer: ', '1</s>'])
  assert.equal(await shown({}), undefined)
  // The tokenizer of another model is not on this machine.
  assert.equal(await shown({ model: 'gone', pairs: { system: null } }), undefined)
})

test('pages follow one another, and the last page says so', async () => {
  const seen: number[] = []
  for (let offset: number | null = 0; offset !== null;) {
    const page: Awaited<ReturnType<typeof preview>> = await preview({ offset, limit: 2 })
    seen.push(...(page?.rows.map(({ index }) => index) ?? []))
    offset = page?.next ?? null
  }
  assert.deepEqual(seen, [0, 1, 2, 3, 4])
  const beyond = (await preview({ offset: 5, limit: 2 })) ?? assert.fail()
  assert.deepEqual([beyond.rows, beyond.next], [[], null])
  assert.equal(await previewRows(storing(null), { ...asked, offset: 0, limit: 2 }, { tokenizers }), null)
})

test('nothing is fetched beyond the page', async () => {
  const file = Readable.from(
    (function* () {
      for (let row = 0; ; row += 1) yield Buffer.from(`{"input": "${row}", "output": "x"}\n`)
    })(),
  )
  const { rows, next } =
    (await previewRows(storing(file), { ...asked, offset: 3, limit: 2 }, { tokenizers })) ?? assert.fail()
  assert.deepEqual([rows.map(({ row }) => row?.input), next], [['3', '4'], 5])
  assert.ok(file.destroyed)
})

const templatesOf = async (...conversations: object[][]) => {
  const file = Readable.from(conversations.map((messages) => Buffer.from(`${JSON.stringify({ messages })}\n`)))
  const page = await previewRows(storing(file), { ...asked, offset: 0, limit: 9 }, { tokenizers })
  return page?.rows.map(({ templated, isCut }) => ({ templated, isCut }))
}
const turns = (count: number, text: string) =>
  Array.from({ length: count }, () => [
    { role: 'user', content: text },
    { role: 'assistant', content: text },
  ]).flat()

test('a long conversation is cut as other texts are, and a very long one has no text of the template', async () => {
  const [cut, long] = (await templatesOf(turns(2, 'a'.repeat(8000)), turns(200, 'a'))) ?? []
  const shown = cut?.templated?.sequences.flat().map(({ text }) => text.length)
  assert.equal(
    shown?.reduce((sum, length) => sum + length, 0),
    10_000,
  )
  assert.equal(long?.templated, null)
})

test('a row says so when only its messages or the text of its template was cut', async () => {
  // 9,990 characters of text have room, but not with the template around them.
  const rows = await templatesOf(turns(1, 'a'), turns(1, 'a'.repeat(4_995)), turns(1, 'a'.repeat(8_000)))
  assert.deepEqual(
    rows?.map(({ isCut }) => isCut),
    [false, true, true],
  )
})

const sheet = 'Nr;Frage;Antwort, kurz\n1;Wo?;Hier.\n2;Wann?\n3;Warum?;Darum.\n4;Wer?;Ich.\n'
const pageOf = async (file: string, read: Columns | null) => {
  const store = storing(Readable.from([Buffer.from(file)]))
  return (await previewRows(store, { ...asked, offset: 0, limit: 3, columns: read }, { tokenizers })) ?? assert.fail()
}

test('a file with names of its own gets a proposal with the rows that it would give', async () => {
  const { proposedColumns, separator, columns: names } = await pageOf(sheet, null)
  assert.deepEqual([separator, names], [';', ['Nr', 'Frage', 'Antwort, kurz']])
  assert.deepEqual(proposedColumns, {
    ...{ input: 'Frage', output: 'Antwort, kurz' },
    rows: [
      { line: 2, input: 'Wo?', output: 'Hier.' },
      { line: 4, input: 'Warum?', output: 'Darum.' },
    ],
  })
  const read = await pageOf(sheet, { input: 'Frage', output: 'Antwort, kurz' })
  assert.deepEqual(
    read.rows.map(({ line, row, error }) => [line, row?.output ?? error]),
    [
      [2, 'Hier.'],
      [3, { field: 'Antwort, kurz', reason: 'is missing: the row has "Nr", "Frage"' }],
      [4, 'Darum.'],
    ],
  )
  assert.deepEqual([read.readColumns?.input, read.proposedColumns], ['Frage', null])
  assert.equal((await pageOf('question,answer\nWho?,Me.\n', null)).proposedColumns, null)
})

test('rows of two answers are read for the method that takes the first of them, and not shown as bad', async () => {
  const rows = ['{"prompt": "Who?", "chosen": "Me.", "rejected": "You."}', '{"prompt": "Who?", "completion": "Me."}']
  const storage = { read: () => Promise.resolve(Readable.from([Buffer.from(rows.join('\n'))])) } as unknown as Storage
  const page = { ...asked, method: null, offset: 0, limit: 10 }
  const found = (await previewRows(storage, page, { tokenizers })) ?? assert.fail()
  assert.deepEqual(
    [found.method, found.rows[0]?.answers, found.rows[0]?.error],
    [
      'dpo',
      [
        { text: 'Me.', isGood: true },
        { text: 'You.', isGood: false },
      ],
      null,
    ],
  )
  assert.match(found.rows[1]?.error?.reason ?? '', /^is missing. This job's method is dpo/)
})

const readBack = async (...rows: object[]) => {
  const text = rows.map((row) => JSON.stringify(row)).join('\n')
  const storage = { read: () => Promise.resolve(Readable.from([Buffer.from(text)])) } as unknown as Storage
  const page = { ...asked, method: null, offset: 0, limit: 10 }
  const { method, rows: shown } = (await previewRows(storage, page, { tokenizers })) ?? assert.fail()
  return [method, shown.map(({ row, error }) => row?.input ?? error?.field)]
}

test('judged answers are read for kto, which the form of a new job then offers, if each row is judged', async () => {
  const row = { prompt: 'Who?', completion: 'Me.' }
  assert.deepEqual(await readBack({ ...row, label: false }), ['kto', ['Who?']])
  assert.deepEqual(await readBack({ ...row, label: 'sports' }), ['supervised', ['Who?']])
  assert.deepEqual(await readBack({ ...row, label: true }, row), ['supervised', ['Who?', 'Who?']])
})

test('prompts are read for reinforcement, unless a row has the answer that another one lacks', async () => {
  assert.deepEqual(await readBack({ prompt: 'Who?', key: 1 }), ['reinforcement', ['Who?']])
  assert.deepEqual(await readBack({ prompt: 'Who?' }, { prompt: 'Why?', completion: 'So.' }), [
    'supervised',
    ['completion', 'Why?'],
  ])
})
