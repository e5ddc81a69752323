import assert from 'node:assert/strict'
import { test } from 'node:test'
import { readDatasetRow, type DatasetRow } from '../../src/datasets/dataset-row.ts'
import { lineOf } from '../../src/datasets/write-rows.ts'

const system = { role: 'system', content: 'Be brief.' }
const user = (content: unknown) => ({ role: 'user', content })
const assistant = (content: unknown, more: object = {}) => ({ role: 'assistant', content, ...more })

test('every answer of a conversation is learned after all that was said before it', () => {
  const parts = [
    { type: 'text', text: 'And ' },
    { type: 'text', text: 'now?' },
  ]
  const messages = [{ ...system, role: 'developer' }, user('Who?'), assistant('Zoë.'), user(parts), assistant('Ann.')]
  assert.deepEqual(readDatasetRow({ messages, tools: null }), {
    input: 'system: Be brief.\nuser: Who?\nassistant: Zoë.\nuser: And now?',
    output: 'Ann.',
    conversation: {
      messages: [system, user('Who?'), assistant('Zoë.'), user('And now?'), assistant('Ann.')],
      learned: [2, 4],
    },
  })
})

test('an answer of weight 0 is only read, and messages after the last answer are left out', () => {
  const messages = [user('a'), assistant('no', { weight: 0 }), user('b'), assistant('yes', { weight: 1 }), user('c')]
  const row = readDatasetRow({ messages }) as DatasetRow
  assert.deepEqual([row.conversation?.learned, row.conversation?.messages.length], [[3], 4])
})

test('axolotl and ms-swift say by other names that an answer is only read', () => {
  for (const flag of [{ train: false }, { loss: false }, { train: 0 }]) {
    const unread: string[] = []
    const row = readDatasetRow({ messages: [user('a'), assistant('no', flag), user('b'), assistant('yes')] }, unread)
    assert.deepEqual([(row as DatasetRow).conversation?.learned, unread], [[3], []])
  }
  const unread: string[] = []
  readDatasetRow({ messages: [user('a'), assistant('yes', { loss: 0.3 })] }, unread)
  assert.deepEqual(unread, ['messages[].loss'])
})

test('a conversation of 1,000 messages is read; its size in memory and on disk is its own', () => {
  const messages = Array.from({ length: 500 }, (_, turn) => [user(`q${turn}`.repeat(50)), assistant('yes')]).flat()
  const row = readDatasetRow({ messages }) as DatasetRow
  assert.equal(row.conversation?.learned.length, 500)
  assert.ok(lineOf(row).length < JSON.stringify({ messages }).length + 5000)
  assert.deepEqual(readDatasetRow({ messages: [...messages, user('one more')] }), {
    field: 'messages',
    reason: 'has 1001 messages; a conversation may have at most 1000',
  })
})

const call = (text: string) => ({ id: 'c1', type: 'function', function: { name: 'stock', arguments: text } })

test('calls of functions are learned as answers, and their results are read', () => {
  const tools = [{ type: 'function', function: { name: 'stock', parameters: { type: 'object', properties: {} } } }]
  const result = { role: 'tool', tool_call_id: 'c1', content: '7' }
  const messages = [user('How many?'), assistant(null, { tool_calls: [call('{"of":"lamp"}')] }), result, assistant('7')]
  const row = readDatasetRow({ messages, tools }) as DatasetRow
  assert.equal(row.input, 'user: How many?\nassistant: \nstock({"of":"lamp"})\ntool: 7')
  assert.deepEqual(row.conversation?.learned, [1, 3])
  const written = JSON.parse(lineOf(row)) as { messages: unknown[]; tools: unknown }
  assert.deepEqual(written.messages[1], { role: 'assistant', content: '', tool_calls: [call('{"of":"lamp"}')] })
  assert.deepEqual([written.messages[2], written.tools], [result, tools])
  const last = readDatasetRow({ messages: messages.slice(0, 2), tools }) as DatasetRow
  assert.equal(last.output, '\nstock({"of":"lamp"})')
})

test("a conversation in the format of ShareGPT reads as the same conversation in OpenAI's format", () => {
  const turn = (from: string, value: unknown, more: object = {}) => ({ from, value, ...more })
  const called = '{"name": "stock", "arguments": {"of": "lamp"}}'
  const tools = JSON.stringify([{ name: 'stock', description: 'Counts', parameters: {} }])
  const conversations = [
    ...[
      turn('system', 'Be brief.'),
      turn('human', 'How many?'),
      turn('function_call', called),
      turn('observation', '7'),
    ],
    ...[turn('gpt', '7'), turn('user', 'Sure?'), turn('chatgpt', 'no', { weight: 0 }), turn('Human', 'Hm?')],
    ...[turn('assistant', 'Yes.', { weight: null })],
  ]
  const row = readDatasetRow({ conversations, tools }) as DatasetRow
  const written = JSON.parse(lineOf(row)) as object
  assert.deepEqual(written, {
    messages: [
      system,
      user('How many?'),
      {
        role: 'assistant',
        content: '',
        tool_calls: [{ id: 'call_2_0', type: 'function', function: { name: 'stock', arguments: '{"of":"lamp"}' } }],
      },
      { role: 'tool', content: '7', tool_call_id: 'call_2_0' },
      assistant('7'),
      user('Sure?'),
      assistant('no'),
      user('Hm?'),
      assistant('Yes.'),
    ],
    learned: [2, 4, 8],
    muted: [6],
    tools: [
      {
        type: 'function',
        function: { name: 'stock', description: 'Counts', parameters: { type: 'object', properties: {} } },
      },
    ],
  })
  // Lists of either name may have messages of either format.
  const mixed = [turn('human', 'a'), assistant('b')]
  assert.deepEqual(
    readDatasetRow({ messages: mixed }),
    readDatasetRow({ conversations: [user('a'), turn('gpt', 'b')] }),
  )
  const several = turn('function_call', `[${called}, ${called}]`)
  const two = readDatasetRow({ conversations: [turn('human', 'a'), several] }) as DatasetRow
  assert.deepEqual(
    two.conversation?.messages[1]?.calls?.map(({ id }) => id),
    ['call_1_0', 'call_1_1'],
  )
})

test('an empty field is the same as a field that is left out', () => {
  const tool = { type: 'function', function: { name: 'stock', parameters: { type: 'object', properties: {} } } }
  const said = assistant('', { tool_calls: [call('{}')] })
  const messages = [user('a'), said, { role: 'tool', tool_call_id: 'c1', content: '' }, assistant('b')]
  const expected = readDatasetRow({ messages, tools: [tool] })
  assert.ok('conversation' in expected)
  for (const nothing of [null, '', [], {}]) {
    const fields = [
      'name',
      'refusal',
      'audio',
      'function_call',
      'annotations',
      'reasoning_content',
      'weight',
      'value',
      'from',
    ]
    const more = Object.fromEntries(fields.map((field) => [field, nothing]))
    const of = (text: unknown) => ({ ...call(''), index: 0, function: { name: 'stock', arguments: text } })
    const unread: string[] = []
    const row = {
      messages: [
        { ...user('a'), ...more, tool_calls: nothing, tool_call_id: nothing },
        { ...said, ...more, content: nothing, tool_calls: [of(nothing)] },
        { ...messages[2], ...more, content: nothing, tool_calls: nothing },
        { ...assistant('b'), ...more, tool_calls: nothing },
      ],
      tools: [
        { type: 'function', function: { name: 'stock', description: nothing, parameters: nothing, strict: nothing } },
      ],
      ...{ functions: nothing, system: nothing, input: nothing, text: nothing, conversations: nothing },
    }
    assert.deepEqual(readDatasetRow(row, unread), expected, JSON.stringify(nothing))
    assert.deepEqual(unread, [])
    const plain = readDatasetRow({ messages: messages.slice(0, 1).concat(assistant('b')), tools: nothing })
    assert.deepEqual(plain, readDatasetRow({ messages: [user('a'), assistant('b')] }))
  }
})

test('messages may have the fields that a chat takes, and those that are not read are told', () => {
  const unread: string[] = []
  const messages = [
    { ...user([{ type: 'text', text: 'a', cache_control: { type: 'ephemeral' } }]), name: 'Ann', type: 'message' },
    assistant('b', {
      reasoning_content: 'hm',
      provider_specific_fields: { x: 1 },
      annotations: [{ url: 'x' }],
      tool_calls: [{ ...call('{"of": "lamp"}'), index: 0, extra: 'x' }],
    }),
    { role: 'tool', tool_call_id: 'c1', name: 'stock', content: '7' },
    assistant('c'),
    user('bye'),
  ]
  const tools = [{ type: 'function', function: { name: 'stock', strict: true, returns: 'a number' } }]
  const row = readDatasetRow({ messages, tools, metadata: { id: 'x' } }, unread) as DatasetRow
  assert.deepEqual(row.conversation?.messages[2], { role: 'tool', content: '7', callId: 'c1', name: 'stock' })
  assert.match(lineOf(row), /"tool_call_id":"c1","name":"stock"/)
  assert.deepEqual(unread, [
    'messages[].content[].cache_control',
    'messages[].name',
    'messages[].tool_calls[].extra',
    'messages[].reasoning_content',
    'messages[].provider_specific_fields',
    'messages[].annotations',
    'tools[].function.returns',
    'messages after the last answer',
    'metadata',
  ])
})

const bad: [object, string, string][] = [
  [{ messages: 'x' }, 'messages', 'is not a list of messages'],
  [{ messages: [] }, 'messages', 'is not a list of messages'],
  [{ messages: [user('a')] }, 'messages', 'has no assistant message to train on'],
  [{ messages: [assistant('alone')] }, 'messages', 'has no assistant message to train on'],
  [{ messages: [user('a'), 7] }, 'messages[1]', 'is not a message'],
  [{ messages: [user(7)] }, 'messages[0].content', 'is not a string'],
  [
    { messages: [user([{ type: 'image_url' }])] },
    'messages[0].content',
    'has a part of the type "image_url": only texts are learned',
  ],
  [{ messages: [user('a\0')] }, 'messages[0].content', 'contains a NUL character'],
  [{ messages: [user('a'), assistant('')] }, 'messages[1].content', 'is empty'],
  [{ messages: [user('a'), assistant('b', { weight: 2 })] }, 'messages[1].weight', 'is neither 0 nor 1'],
  [
    { messages: [user('a'), assistant('b', { tool_calls: [{}] })] },
    'messages[1].tool_calls[0]',
    'is not a call of a function',
  ],
  [
    { messages: [user('a'), assistant(null, { tool_calls: [call('[]')] })] },
    'messages[1].tool_calls[0].function.arguments',
    'is not a JSON object in a string',
  ],
  [{ messages: [{ ...user('a'), tool_calls: [call('{}')] }] }, 'messages[0].tool_calls', 'is for the assistant'],
  [{ messages: [{ role: 'tool', content: 'x' }] }, 'messages[0].tool_call_id', 'is not a string'],
  [
    { messages: [{ role: 'robot', content: 'x' }] },
    'messages[0].role',
    'is not system, developer, user, assistant or tool',
  ],
  [{ messages: [user('a'), assistant('b', { refusal: 'I cannot.' })] }, 'messages[1].refusal', 'is not supported'],
  [
    { messages: [{ role: 'system', content: null }, user('a'), assistant('b')] },
    'messages[0].content',
    'is not a string',
  ],
  [{ messages: [user('a'), assistant(null)] }, 'messages[1].content', 'is empty'],
  [
    { messages: [user('a'), { role: 'tool', tool_call_id: 'c1', name: 7, content: 'x' }] },
    'messages[1].name',
    'is not a string',
  ],
  [
    { conversations: [{ from: 'robot', value: 'x' }] },
    'conversations[0].from',
    'is not system, human, gpt, function_call or observation',
  ],
  [
    {
      conversations: [
        { from: 'human', value: 'x' },
        { from: 'function_call', value: 'stock()' },
      ],
    },
    'conversations[1].value',
    'is not a call such as {"name": "...", "arguments": {...}}',
  ],
  [
    { messages: [user('a'), assistant(null, { tool_calls: [call('{"a": "\\ud83e"}')] })] },
    'messages[1].tool_calls[0].function.arguments',
    'contains half of a character, such as \\ud83e: a text was cut within an emoji or a rare letter',
  ],
  [
    { messages: [user('a'), assistant(null, { tool_calls: [call('{"a": 1, "a": 2}')] })] },
    'messages[1].tool_calls[0].function.arguments',
    'has the key "a" twice, and only one of the values could be read',
  ],
  [
    { messages: [user('a'), assistant(null, { tool_calls: [call(`{"a": ${'9'.repeat(5000)}}`)] })] },
    'messages[1].tool_calls[0].function.arguments',
    'holds a number of more than 4000 digits',
  ],
  [
    { messages: [user('a'), assistant(null, { tool_calls: [call(`{"a": ${'['.repeat(101)}${']'.repeat(101)}}`)] })] },
    'messages[1].tool_calls[0].function.arguments',
    'is nested more than 100 levels deep',
  ],
  [{ messages: [user('a'), assistant('b')], tools: 'stock' }, 'tools', 'is not a list of at most 128 functions'],
  [{ messages: [user('a'), assistant('b')], tools: [{}] }, 'tools[0]', 'is not a function with a name and parameters'],
]
for (const [row, field, reason] of bad)
  test(`names ${field}, which ${reason}: ${JSON.stringify(row).slice(0, 60)}`, () => {
    assert.deepEqual(readDatasetRow(row), { field, reason })
  })
