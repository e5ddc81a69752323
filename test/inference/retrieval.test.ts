// How many rows are put before a prompt, against an engine whose tokens are words.
import assert from 'node:assert/strict'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import { after, test } from 'node:test'
import { measured } from '../../src/domain/chat.ts'
import { isText } from '../../src/domain/prompt.ts'
import type { Servers } from '../../src/inference/accept.ts'
import { createQueue } from '../../src/inference/queue.ts'
import { createReplicas } from '../../src/inference/replicas.ts'
import { placeRows } from '../../src/inference/retrieval.ts'
import { askedPrompts, tiny } from './support/asked-prompts.ts'

let counted = 0
const engine = createServer((request, response) => {
  counted++
  void json(request).then((body) => {
    type Body = { prompt?: string; text_before?: string; messages?: { content: string }[] }
    const { messages = [], prompt = messages.map(({ content }) => content).join(' '), text_before = '' } = body as Body
    response.end(
      JSON.stringify({ count: `${text_before}${prompt}`.split(/\s+/).length, max_model_len: 40, tokens: [] }),
    )
  })
})
await new Promise<void>((resolve) => engine.listen(0, '127.0.0.1', resolve))
after(() => engine.close())

const endpoint = {
  baseModel: 'words',
  generation: 1,
  instance: 'one',
  url: `http://127.0.0.1:${(engine.address() as AddressInfo).port}`,
  token: '',
}
const queue = createQueue()
const servers = {
  endpoints: { ready: () => Promise.resolve([endpoint]) },
  replicas: createReplicas(),
} as unknown as Servers

async function layOut(prompts: string[], rows: string[][], more: { contextLength?: number; maxTokens?: number } = {}) {
  const baseModel = { ...tiny, name: 'words', contextLength: more.contextLength ?? 40 }
  const asked = askedPrompts(baseModel, prompts, { sampling: { maxTokens: more.maxTokens ?? 10 } })
  using turns = queue.accept({ baseModel: 'words', accountId: 'one', prompts: prompts.length })
  const { input, usedRows } = await placeRows({ ...asked, input: { kind: 'prompts', prompts, rows }, servers, turns })
  assert.ok(input.kind === 'prompts')
  return { prompts: input.prompts.filter(isText), textLengths: input.textLengths, usedRows }
}

const lay = async (...asked: Parameters<typeof layOut>) => (await layOut(...asked)).prompts

const row = 'five words in this row'
const prompt = (words: number) => Array.from({ length: words }, (_, index) => `w${index}`).join(' ')

test('all rows come first, nearest first, then the prompt as it was sent', async () => {
  assert.deepEqual(await lay(['Why? '], [['one.', 'two.']]), ['Information:\none.\ntwo.\n\nWhy? '])
})

test('the rows for a chat stand in its last message, and their room is counted with the template', async () => {
  const baseModel = { ...tiny, name: 'words', contextLength: 40 }
  const asked = askedPrompts(baseModel, [], { sampling: { maxTokens: 10 } })
  const chatOf = (content: string) => {
    const system = { role: 'system' as const, content: 'Be brief.' }
    return measured({ messages: [system, { role: 'user', content }] })
  }
  const chats = [chatOf('Why?'), chatOf(prompt(27))]
  using turns = queue.accept({ baseModel: 'words', accountId: 'one', prompts: 2 })
  const input = { kind: 'chat' as const, chats, rows: [['one.', 'two.'], [row]] }
  const placed = await placeRows({ ...asked, input, servers, turns })
  assert.ok(placed.input.kind === 'chat')
  assert.deepEqual(
    placed.input.chats.map(({ messages }) => messages.map(({ content }) => content)),
    [
      ['Be brief.', 'Information:\none.\ntwo.\n\nWhy?'],
      ['Be brief.', prompt(27)],
    ],
  )
  assert.deepEqual(placed.usedRows, [['one.', 'two.'], []])
})

test('special tokens act in the prompt alone, not in the rows before it', async () => {
  const { prompts, textLengths } = await layOut(['Why?</s>', 'no rows'], [['one.</s>'], []])
  assert.deepEqual(
    prompts.map((text, index) => text.slice(textLengths?.[index])),
    ['Why?</s>', 'no rows'],
  )
})

test('drops the farthest rows first when the context is full, and never the prompt', async () => {
  // 30 tokens of room, one for the heading.
  const rows = [`${row} a`, `${row} b`, `${row} c`]
  const taken = (text = '') => text.split('\n').length - 3
  assert.equal(taken((await lay([prompt(11)], [rows]))[0]), 3)
  assert.match((await lay([prompt(12)], [rows]))[0] ?? '', /^Information:\nfive words in this row a\nfive .* b\n\nw0/)
  assert.equal(taken((await lay([prompt(18)], [rows]))[0]), 1)
  assert.deepEqual(await lay([prompt(24)], [rows]), [prompt(24)])
  assert.deepEqual((await layOut([prompt(18), prompt(24)], [rows, rows])).usedRows, [[`${row} a`], []])
})

test('each prompt gets its own rows, in place', async () => {
  assert.deepEqual(await lay(['a', 'b', 'c'], [['one.'], [], ['two.']]), [
    'Information:\none.\n\na',
    'b',
    'Information:\ntwo.\n\nc',
  ])
})

test('a large max_tokens leaves half of the context', async () => {
  assert.match((await lay([prompt(5)], [[row]], { maxTokens: 1_000_000 }))[0] ?? '', /^Information/)
})

test('does not count tokens when the rows surely fit', async () => {
  counted = 0
  await lay(['Why?'], [['one.']], { contextLength: 1000 })
  assert.equal(counted, 0)
})
