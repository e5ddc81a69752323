import assert from 'node:assert/strict'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { isProblem, readDatasetRow } from '../../src/datasets/dataset-row.ts'
import { readDataset } from '../../src/datasets/read-dataset.ts'
import { lineOf } from '../../src/datasets/write-rows.ts'

const chat = [
  { role: 'user', content: 'u' },
  { role: 'assistant', content: 'a' },
]

/** A row, what is learned from it, and the names of what is not read. */
const read: [row: object, input: string, output: string, unread?: string[]][] = [
  [{ instruction: 'i', input: '', output: 'o' }, 'i', 'o'],
  [{ instruction: 'i', input: 'x', output: 'o' }, 'i\nx', 'o'],
  [{ instruction: 'i', input: 'x', output: 'o', system: 's', history: [] }, 's\n\ni\nx', 'o'],
  [{ instruction: 'i', response: 'o' }, 'i', 'o'],
  // The copies that Alpaca's own file and others like it have.
  [
    { instruction: 'i', input: '', output: 'o', text: '### Instruction: i', prompt: 'Below is i' },
    'i',
    'o',
    ['text', 'prompt'],
  ],
  [{ instruction: 'i', context: 'c', response: 'r', category: 'qa' }, 'i\nc', 'r', ['category']],
  [{ instruction: 'i', context: '', response: 'r', category: '' }, 'i', 'r'],
  [{ question: 'q', context: 'c', answer: 'a' }, 'c\nq', 'a'],
  [{ Context: 'c', Response: 'r' }, 'c', 'r'],
  [{ prompt: 'p', response: 'r' }, 'p', 'r'],
  [{ system: 's', prompt: 'p', completion: 'c' }, 's\n\np', 'c'],
  [{ system_prompt: 's', question: 'q', response: 'r', id: 7 }, 's\n\nq', 'r', ['id']],
  [{ Input: 'a', ' OUTPUT ': 'b' }, 'a', 'b'],
  [{ input: '', output: 'b' }, '', 'b'],
  [
    { input: 'a', output: { months: 18, 'in stock': true, colour: 'red' } },
    'a',
    '{"months":18,"in stock":true,"colour":"red"}',
  ],
  [{ text: 't', input: null, output: '', messages: [], label: false }, '', 't', ['label']],
  [{ input: 'a', output: 'b', messages: null, tools: [], weight: null, text: '', meta: {}, history: null }, 'a', 'b'],
  // A row that was read before stays one, and what it has beside its pair is told.
  [{ input: 'a', output: 'b', answer: '42', user: 'u1', url: 'http://x' }, 'a', 'b', ['answer', 'user', 'url']],
  [{ input: 'a', output: 'b', prompt: 'a', solution: 'b' }, 'a', 'b'],
  [
    { input: 'a', output: 'b', history: 'Rome', tools: 'hammer', conversation: 7 },
    'a',
    'b',
    ['history', 'tools', 'conversation'],
  ],
  [{ instruction: 'i', input: '', output: 'o', history: '[]' }, 'i', 'o'],
  [{ instruction: 'i', output: 'o', history: '[["a", "b"]]' }, 'user: a\nassistant: b\nuser: i', 'o'],
  [{ messages: chat, prompt: 'u', prompt_id: 'x' }, 'user: u', 'a', ['prompt_id']],
  [{ messages: chat, instruction: 'u', response: 'a' }, 'user: u', 'a'],
  [{ messages: chat, system: 's' }, 'system: s\nuser: u', 'a'],
  [{ messages: [{ role: 'system', content: 's' }, ...chat], system: 's' }, 'system: s\nuser: u', 'a'],
  [{ conversations: chat, chosen: ['x'] }, 'user: u', 'a', ['chosen']],
  [{ prompt: chat.slice(0, 1), completion: chat.slice(1) }, 'user: u', 'a'],
  [{ prompt: [...chat, { role: 'user', content: 'v' }], completion: 'b' }, 'user: u\nassistant: a\nuser: v', 'b'],
  [
    { prompt: chat.slice(0, 1), completion: [...chat.slice(1), ...chat], chosen: ['x'] },
    'user: u\nassistant: a\nuser: u',
    'a',
    ['chosen'],
  ],
  [
    { instruction: 'i', input: '', output: 'o', system: 's', history: [['a', 'b']] },
    'system: s\nuser: a\nassistant: b\nuser: i',
    'o',
  ],
]
for (const [row, input, output, names = []] of read)
  test(`reads ${JSON.stringify(row)}`, () => {
    const unread: string[] = []
    const found = readDatasetRow(row, unread)
    assert.ok(!isProblem(found), JSON.stringify(found))
    assert.deepEqual([found.input, found.output, unread], [input, output, names])
  })

const second = (prompt: string) => `is a second answer, to "${prompt}": make two rows, or take both fields out`
const beside = (field: string) => `is not read beside ${field}: put its text there, or take the field out`
const compared =
  'is one of two answers to compare, which the method dpo learns from. This method learns a single answer: put the better one into completion'
const refused: [row: object, field: string, reason: string][] = [
  [{ input: 'a', output: 'b', prompt: 'c', completion: 'd' }, 'completion', second('prompt')],
  [{ messages: chat, input: 'x', output: 'y' }, 'output', second('input')],
  [{ messages: chat, instruction: 'i' }, 'instruction', beside('messages')],
  [{ messages: chat, conversations: [...chat, ...chat] }, 'conversations', beside('messages')],
  [{ text: 't', system: 's' }, 'system', beside('text')],
  [{ prompt: chat, completion: chat.slice(0, 1) }, 'completion', 'has no assistant message to train on'],
  [{ prompt: ['u'], completion: 'a' }, 'prompt[0]', 'is not a message'],
  [{ prompt: chat, completion: 7 }, 'completion', 'is not a list of messages'],
  [{ input: 'a', output: 'b', tools: [{}] }, 'tools', beside('output')],
  [{ Input: 'a', input: 'b', output: 'c' }, 'input', 'is the same field as "Input": keep one'],
  [
    { messages: [{ role: 'system', content: 't' }, ...chat], system: 's' },
    'system',
    'stands beside messages that begin with another system message, "t": keep one',
  ],
  [{ messages: chat, system: 7 }, 'system', 'is not a string'],
  [{ input: 'a', output: 'b', system: 7 }, 'system', 'is a number, not a string'],
  [{ question: 'q', context: { title: ['x'] }, answer: 'a' }, 'context', 'is an object, not a string'],
  [{ instruction: 'i', output: ['o'] }, 'output', 'is an array, not a string'],
  [{ question: 'q', answer: { aliases: ['x'] } }, 'answer', 'is an object, not a string'],
  [
    { instruction: 'i', output: 'o', history: ['a'] },
    'history',
    'is not a list of turns such as ["question", "answer"]',
  ],
  [{ instruction: '', input: null, output: 'o' }, 'input', 'is missing'],
  [{ instruction: 'i', output: '' }, 'output', 'is empty'],
  [{ prompt: 'p', chosen: 'a', rejected: 'b' }, 'chosen', compared],
  [{ chosen: 'a', rejected: 'b' }, 'chosen', compared],
]
for (const [row, field, reason] of refused)
  test(`refuses ${JSON.stringify(row)}`, () => {
    assert.deepEqual(readDatasetRow(row), { field, reason })
  })

test('a row of other names is refused with its names, those that are read, and the route that maps names', () => {
  const long = 'x'.repeat(1000)
  const many = Object.fromEntries(Array.from({ length: 12 }, (_, index) => [`f${index}`, 'x']))
  for (const [row, field, begins] of [
    [
      { Frage: 'a', Antwort: 'b' },
      'row',
      'has no text to learn: the row has "Frage", "Antwort"; rows are read with input',
    ],
    [
      { prompt: 'a', antwort: 'b' },
      'completion',
      'is missing: the row has "prompt", "antwort"; rows are read with input',
    ],
    [{ 'input;output': 'a;b' }, 'row', 'has no text to learn: the row has "input;output"; rows'],
    [{ [long]: 'a' }, 'row', `has no text to learn: the row has "${'x'.repeat(40)}…"; rows`],
    [
      many,
      'row',
      'has no text to learn: the row has "f0", "f1", "f2", "f3", "f4", "f5", "f6", "f7", "f8", "f9" and 2 more; rows',
    ],
  ] as const) {
    const problem = readDatasetRow(row)
    assert.ok(isProblem(problem))
    assert.equal(problem.field, field)
    assert.ok(problem.reason.startsWith(begins), problem.reason)
    assert.match(problem.reason, /; POST \/v1\/data\/\{dataset_id\}\/columns makes such rows from other names$/)
  }
})

/** Texts that a careless reader would cut, trim, unescape or join in another way. */
const texts = [
  'Wie heißt "das"?',
  ' x ',
  'a\nb',
  'a,b;c\td',
  '\\n',
  '🦙\u2028',
  '{"a": 1}',
  '</s>',
  '#',
  'null',
  "'",
  'é\r\n',
]
const text = (row: number, part: number) => `${texts[(row * 7 + part * 5) % texts.length]}${row}.${part}`

/** Each form writes a row, and what the trainer has to get for it. */
const forms: ((row: number) => { row: Record<string, unknown>; line: object })[] = [
  (at) => {
    const [input, output] = [text(at, 0), text(at, 1)]
    return { row: { input, output }, line: { input, output } }
  },
  (at) => {
    const [instruction, more, output, system] = [text(at, 0), at % 2 ? text(at, 1) : '', text(at, 2), text(at, 3)]
    const input = `${system}\n\n${instruction}${more === '' ? '' : `\n${more}`}`
    return { row: { instruction, input: more, output, system }, line: { input, output } }
  },
  (at) => {
    const [question, context, answer] = [text(at, 0), text(at, 1), text(at, 2)]
    return { row: { question, context, answer }, line: { input: `${context}\n${question}`, output: answer } }
  },
  (at) => {
    const [instruction, context, response] = [text(at, 0), at % 3 ? text(at, 1) : null, text(at, 2)]
    const input = context === null ? instruction : `${instruction}\n${context}`
    return { row: { instruction, context, response }, line: { input, output: response } }
  },
  (at) => {
    const turns = Array.from(
      { length: 1 + (at % 3) },
      (_, turn) => [text(at, 2 * turn), text(at, 2 * turn + 1)] as const,
    )
    const conversations = turns.flatMap(([human, gpt]) => [
      { from: 'human', value: human },
      { from: 'gpt', value: gpt },
    ])
    const said = turns.flatMap(([user, assistant]) => [
      { role: 'user', content: user },
      { role: 'assistant', content: assistant },
    ])
    const messages = [{ role: 'system', content: 'Be brief.' }, ...said]
    return {
      row: { system: 'Be brief.', conversations },
      line: { messages, learned: turns.map((_, turn) => 2 * turn + 2) },
    }
  },
]

async function linesOf(file: string): Promise<unknown[]> {
  const rows = (await Array.fromAsync(readDataset(Readable.from([Buffer.from(file)])))).flat()
  return rows.map((raw) => {
    const row = 'value' in raw ? readDatasetRow(raw.value) : assert.fail(raw.problem)
    return isProblem(row) ? assert.fail(row.reason) : (JSON.parse(lineOf(row)) as unknown)
  })
}

test('1,000 rows of five forms are written for the trainer exactly as they are meant', async () => {
  const rows = Array.from({ length: 1000 }, (_, at) => (forms[at % forms.length] ?? assert.fail())(at))
  const expected = rows.map(({ line }) => line)
  assert.deepEqual(await linesOf(rows.map(({ row }) => JSON.stringify(row)).join('\n')), expected)
  assert.deepEqual(await linesOf(JSON.stringify(rows.map(({ row }) => row))), expected)
})

test('the rows of the forms without lists are the same in CSV, whatever separates the cells', async () => {
  for (const separator of [',', ';', '\t'])
    for (const form of forms.slice(0, 4)) {
      const rows = Array.from({ length: 100 }, (_, at) => form(at))
      const cell = (value: unknown) => `"${typeof value === 'string' ? value.replaceAll('"', '""') : ''}"`
      const names = Object.keys(rows[0]?.row ?? {})
      const lines = rows.map(({ row }) => names.map((name) => cell(row[name])).join(separator))
      assert.deepEqual(
        await linesOf([names.join(separator), ...lines].join('\n')),
        rows.map(({ line }) => line),
      )
    }
})

test('nothing is learned from a prompt of messages', () => {
  const found = readDatasetRow({ prompt: [...chat, ...chat.slice(0, 1)], completion: chat.slice(1) })
  assert.deepEqual('conversation' in found && found.conversation?.learned, [3])
})
