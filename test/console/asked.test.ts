// What the playground, the model page, the palette, the usage and the audit trail compute, without a browser.
import assert from 'node:assert/strict'
import { test } from 'node:test'
import { chosenEvents, groupedEvents } from '../../console/src/domain/audit.ts'
import {
  answerMessage,
  questionOf,
  userMessage,
  type Message,
  type ModelFacts,
  type Texts,
} from '../../console/src/domain/chat.ts'
import { bestOf } from '../../console/src/domain/compare.ts'
import { valuesOn } from '../../console/src/domain/curve.ts'
import { lineageOf } from '../../console/src/domain/lineage.ts'
import { found } from '../../console/src/domain/palette.ts'
import { readSetup } from '../../console/src/domain/playground.ts'
import { lastDays, stacksOf } from '../../console/src/domain/usage-bars.ts'
import { programsOf } from '../../console/src/domain/use-model.ts'

const ask = (facts: ModelFacts, { search = '', texts = {} }: { search?: string; texts?: Partial<Texts> } = {}) =>
  questionOf('bot', facts, {
    setup: readSetup(search),
    texts: { system: null, tools: '', ...texts },
    messages: [userMessage('Hello'), answerMessage('Hi', []), userMessage('Who?')],
  })

test('a model is asked as it learned, and a base as a chat if it has a template', () => {
  const isChat = (facts: ModelFacts, search = '') => ask(facts, { search }).isChat
  assert.ok(isChat({ base_model: 'smollm2', learned_form: 'conversations' }))
  assert.ok(isChat({ learned_form: null, has_chat_template: true }))
  assert.ok(!isChat({ base_model: 'smollm2', learned_form: 'pairs', has_chat_template: true }))
  assert.ok(!isChat({ base_model: 'smollm2', learned_form: null, has_chat_template: true }), 'an older tuned model')
  assert.ok(!isChat({}), 'a service that says nothing')
  assert.ok(isChat({ base_model: 'smollm2', learned_form: 'pairs' }, 'chat=1'), 'a link of an earlier release')
  assert.ok(!isChat({ base_model: 'smollm2', learned_form: 'conversations' }, 'chat=no'))
  assert.ok(
    !isChat({ base_model: 'smollm2', learned_form: 'conversations' }, 'rows=shop'),
    'stored rows stand before prompts only',
  )
})

test('a chat sends the earlier turns and the system message of the training, a prompt only its own text', () => {
  const facts: ModelFacts = { base_model: 'smollm2', learned_form: 'conversations', system_message: 'Be brief.' }
  const roles = (question: ReturnType<typeof ask>) =>
    (question.body['messages'] as { role: string; content: string }[]).map(({ role, content }) => `${role}: ${content}`)
  const turns = ['user: Hello', 'assistant: Hi', 'user: Who?']
  assert.deepEqual(roles(ask(facts)), ['system: Be brief.', ...turns])
  assert.deepEqual(roles(ask(facts, { texts: { system: '' } })), turns)
  assert.deepEqual(roles(ask(facts, { texts: { system: 'Rhyme.' } })), ['system: Rhyme.', ...turns])
  assert.equal(ask(facts, { search: 'chat=no' }).body['prompt'], 'Who?')
})

test('a structured answer is asked for with a schema and not streamed', () => {
  const { body, isStreamed } = ask({}, { search: 'type=city:str,size:big%7Csmall' })
  assert.equal(isStreamed, false)
  assert.deepEqual(body['response_format'], {
    type: 'json_schema',
    json_schema: {
      name: 'answer',
      strict: true,
      schema: {
        type: 'object',
        properties: { city: { type: 'string' }, size: { enum: ['big', 'small'] } },
        required: ['city', 'size'],
        additionalProperties: false,
      },
    },
  })
})

test('tools that are no list of JSON are named before anything is asked', () => {
  const facts: ModelFacts = { base_model: 'smollm2', learned_form: 'conversations' }
  assert.throws(() => ask(facts, { texts: { tools: '{' } }), /no JSON/)
  assert.throws(() => ask(facts, { texts: { tools: '{}' } }), /must be a list/)
  assert.deepEqual(ask(facts, { texts: { tools: '[{"type": "function"}]' } }).body['tools'], [{ type: 'function' }])
})

test('calls without a result are left out of the conversation, and calls with one are sent with it', () => {
  const call = answerMessage('', [{ id: 'a', name: 'stock', arguments: '{}' }])
  const rolesOf = (messages: Message[]) => {
    const facts = { base_model: 'smollm2', learned_form: 'conversations' } as const
    const { body } = questionOf('bot', facts, {
      setup: readSetup(''),
      texts: { system: '', tools: '' },
      messages: [userMessage('How many?'), call, ...messages],
    })
    return (body['messages'] as Message[]).map(({ role }) => role)
  }
  assert.deepEqual(rolesOf([userMessage('Never mind.')]), ['user'])
  assert.deepEqual(rolesOf([{ role: 'tool', tool_call_id: 'a', content: '3' }]), ['user', 'assistant', 'tool'])
})

test('the palette finds every typed word, and names that begin with the text first', () => {
  const items = [
    { group: 'Job', name: 'old products', detail: '1 · failed' },
    { group: 'Page', name: 'Data' },
    { group: 'Job', name: 'products-bot', detail: '2 · completed' },
  ]
  const names = (text: string) => found(items, text).map(({ name }) => name)
  assert.deepEqual(names('products'), ['products-bot', 'old products'])
  assert.deepEqual(names('job failed'), ['old products'])
  assert.equal(names('').length, 3)
})

test('versions stand under the model that they began from', () => {
  const version = (number: number, parent: { name: string | null; version: number | null } | null) => ({
    model_name: `id-${number}`,
    version: number,
    base_model: 'smollm2',
    parent: parent && { model_name: parent.name === 'bot' ? `id-${parent.version}` : 'id-other', ...parent },
  })
  const [base, other] = lineageOf('bot', [
    version(3, { name: 'other', version: 1 }),
    version(2, { name: 'bot', version: 1 }),
    version(1, null),
  ])
  assert.equal(base?.label, 'smollm2')
  assert.equal(base?.children[0]?.label, 'bot@1')
  assert.equal(base?.children[0]?.children[0]?.label, 'bot@2')
  assert.equal(other?.label, 'other@1')
  assert.equal(other?.children[0]?.label, 'bot@3')
})

test('programs ask a model in its form, with its system message', () => {
  const chat = programsOf('bot@production', { isChat: true, system: "Don't rhyme.", origin: 'http://here' })
  assert.match(chat.curl, /openai\/v1\/chat\/completions/)
  assert.match(chat.curl, /Don'\\''t rhyme\./)
  assert.match(chat.Python, /client\.chat\.completions\.create/)
  const plain = programsOf('bot', { isChat: false, system: '', origin: 'http://here' })
  assert.match(plain.TypeScript, /client\.completions\.create/)
})

test('the days of usage are stacks of the models that used most', () => {
  const days = lastDays(2, new Date('2026-11-20T10:00:00Z'))
  assert.deepEqual(days, ['2026-11-19', '2026-11-20'])
  const rows = [
    { day: days[1] ?? '', model_name: 'a', spent: 1 },
    { day: days[1] ?? '', model_name: 'b', spent: 5 },
    { day: days[0] ?? '', model_name: 'c', spent: 2 },
    { day: days[0] ?? '', model_name: 'idle', spent: 0 },
  ]
  const { names, days: stacks, most } = stacksOf(rows, { days, valueOf: ({ spent }) => spent, mostNames: 2 })
  assert.deepEqual(names, ['b', 'others'])
  assert.deepEqual(stacks, [
    { day: days[0], values: [0, 2], sum: 2 },
    { day: days[1], values: [5, 1], sum: 6 },
  ])
  assert.equal(most, 6)
})

test('the best of several values is told, if they differ', () => {
  assert.deepEqual(bestOf([0.5, null, 0.2], true), [false, false, true])
  assert.deepEqual(bestOf([0.5, 0.5], false), [false, false])
})

test('a curve runs over the tokens that were trained on', () => {
  const metric = (step: number) => ({ step, loss: 1, iter_time: 2, tokens_per_second: 10 })
  assert.deepEqual(valuesOn('tokens', [metric(1), metric(5)]), [20, 100])
})

test('the audit trail is searched and grouped', () => {
  const event = (at: string, action: string, target: string) => ({ at, action, target, key_id: null, address: null })
  const events = [
    event('2026-11-20T10:00:00', 'train', '7'),
    event('2026-11-20T09:00:00', 'key.create', 'laptop'),
    event('2026-11-19T09:00:00', 'train', '6'),
  ]
  assert.deepEqual(chosenEvents(events, { text: 'LAP', action: '' }), [events[1]])
  assert.deepEqual(
    groupedEvents(chosenEvents(events, { text: '', action: 'train' }), 'day').map(([name, each]) => [
      name,
      each.length,
    ]),
    [
      ['2026-11-20', 1],
      ['2026-11-19', 1],
    ],
  )
})
