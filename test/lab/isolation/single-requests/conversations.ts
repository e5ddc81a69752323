// Conversations, their functions and the forms of their answers.
import type { Asker, Extreme } from './extreme.ts'
import { emoji, list, longestText, manyNames, metadata, nested, record, words } from './texts.ts'

const user = (content: unknown) => ({ role: 'user', content })
const parts = (count: number, characters: number) =>
  list(count, (at) => ({ type: 'text', text: words(characters, at) }))
const tool = (at: number, parameters: object, description = '') => ({
  type: 'function',
  function: { name: `function_${at}`, description, parameters },
})
const call = (at: number, args: string) => ({
  id: `call_${at}`,
  type: 'function',
  function: { name: 'f', arguments: args },
})

const wideSchema = (count: number): object => ({
  type: 'object',
  properties: record(count, () => ({ type: 'string', maxLength: 20 })),
  required: list(count, (at) => `field_${at}`),
  additionalProperties: false,
})

const chat =
  (more: object) =>
  (_: unknown, { baseModel }: Asker) => ({
    body: { model: baseModel, messages: [user('Who?')], max_tokens: 4, ...more },
  })
const schemaFormat = (schema: object) => ({
  response_format: { type: 'json_schema', json_schema: { name: 's', schema } },
})

const chats: Extreme[] = [
  {
    what: '2,048 short messages',
    sent: chat({ messages: list(2048, (at) => ({ role: at % 2 ? 'assistant' : 'user', content: 'a' })) }),
  },
  { what: '2,048 messages of 100 parts', sent: chat({ messages: list(2048, () => user(parts(100, 4))) }) },
  { what: 'four messages of 16 MB', sent: chat({ messages: list(4, (at) => user(words(longestText - 100, at))) }) },
  { what: 'a message of 16 MB of emoji', sent: chat({ messages: [user(emoji(longestText))] }) },
  { what: '2,000 messages of 80 parts', sent: chat({ messages: list(2000, () => user(parts(80, 1))) }) },
  {
    what: '2,000 messages of 80 wrong parts',
    sent: chat({ messages: list(2000, () => user(list(80, () => ({ type: 'text', text: 1 })))) }),
  },
  {
    what: '2,000 messages with 150 empty fields',
    sent: chat({ messages: list(2000, () => ({ ...user('a'), ...record(150, () => null) })) }),
  },
  { what: '100,000 messages', sent: chat({ messages: list(100_000, () => user('a')) }) },
  {
    what: 'a bias of 9,900 tokens',
    sent: chat({
      logit_bias: record(
        9900,
        () => 1,
        (at) => `${at}`,
      ),
    }),
  },
  { what: 'a message of 1,000 parts of 64 KB', sent: chat({ messages: [user(parts(1000, 64_000))] }) },
  {
    what: 'a message of 1,000 parts of 64 KB of emoji',
    sent: chat({ messages: [user(list(1000, () => ({ type: 'text', text: emoji(64_000) })))] }),
  },
  {
    what: '128 calls with arguments of 400 KB',
    sent: chat({
      messages: [
        user('Who?'),
        {
          role: 'assistant',
          content: null,
          tool_calls: list(128, (at) => call(at, JSON.stringify({ a: words(400_000) }))),
        },
        ...list(128, (at) => ({ role: 'tool', tool_call_id: `call_${at}`, content: 'done' })),
      ],
    }),
  },
  {
    what: 'arguments of a megabyte of small values',
    sent: chat({
      messages: [
        user('Who?'),
        {
          role: 'assistant',
          content: null,
          tool_calls: list(20, (at) => call(at, JSON.stringify({ a: list(400_000, () => 1) }))),
        },
        ...list(20, (at) => ({ role: 'tool', tool_call_id: `call_${at}`, content: 'done' })),
      ],
    }),
  },
  { what: '128 functions of 20 fields', sent: chat({ tools: list(128, (at) => tool(at, wideSchema(20))) }) },
  {
    what: '128 functions with a description of 400 KB',
    sent: chat({ tools: list(128, (at) => tool(at, {}, words(400_000))) }),
  },
  { what: 'a schema of 5,000 fields', sent: chat(schemaFormat(wideSchema(5000))) },
  { what: 'a schema of 500 fields', sent: chat({ max_tokens: 1000, ...schemaFormat(wideSchema(500)) }) },
  {
    what: 'a schema nested 90 deep',
    sent: chat(schemaFormat({ type: 'object', properties: nested(45, { type: 'string' }) as object })),
  },
  {
    what: 'a regex of 30,000 characters',
    sent: chat({ structured_outputs: { regex: `(${words(30_000).replaceAll(' ', '|')})` } }),
  },
  {
    what: 'a choice of 1,000 texts',
    sent: chat({ structured_outputs: { choice: list(1000, (at) => words(30, at)) } }),
  },
  {
    what: 'a grammar of 30,000 characters',
    sent: chat({ structured_outputs: { grammar: `root ::= "${words(30_000)}"` } }),
  },
  {
    what: '100 choices of 200 tokens with 20 log probabilities',
    sent: chat({ n: 100, max_tokens: 200, logprobs: true, top_logprobs: 20 }),
  },
  {
    what: '100 choices of 200 tokens with 20 log probabilities, streamed',
    sent: chat({ n: 100, max_tokens: 200, logprobs: true, top_logprobs: 20, stream: true }),
  },
  { what: '20 choices of 900 tokens, streamed', sent: chat({ n: 20, max_tokens: 900, stream: true }) },
  {
    what: 'longest labels',
    sent: chat({ metadata, user: words(1024), stop: list(16, (at) => words(1000, at)), max_tokens: 900 }),
  },
  {
    what: 'ignored fields of 48 MB',
    sent: chat({ messages: list(3, (at) => ({ ...user('Who?'), reasoning_content: words(longestText, at) })) }),
  },
  {
    what: 'an ignored field of 400,000 values',
    sent: chat({
      messages: [
        {
          ...user('Who?'),
          provider_specific_fields: { list: manyNames(400_000) },
        },
      ],
    }),
  },
]

const respond =
  (more: object) =>
  (_: unknown, { baseModel }: Asker) => ({
    body: { model: baseModel, input: 'Who?', max_output_tokens: 4, ...more },
  })
const said = (content: unknown) => ({ role: 'user', content })
const saidParts = (count: number, characters: number) =>
  list(count, (at) => ({ type: 'input_text', text: words(characters, at) }))

export const conversations: Record<string, Extreme[]> = {
  openai_chat_completions: chats,
  openai_create_response: [
    { what: '2,048 messages', sent: respond({ input: list(2048, (at) => said(`message ${at}`)) }) },
    { what: '2,048 messages of 100 parts', sent: respond({ input: list(2048, () => said(saidParts(100, 4))) }) },
    { what: 'an input of 16 MB', sent: respond({ input: words(longestText) }) },
    { what: 'instructions of 16 MB', sent: respond({ instructions: words(longestText) }) },
    { what: '60,000 items of another kind', sent: respond({ input: list(60_000, () => ({ type: 'x' })) }) },
    {
      what: '2,000 items with 150 empty fields',
      sent: respond({ input: list(2000, () => ({ ...said('a'), ...record(150, () => null) })) }),
    },
    { what: 'a message of 1,000 parts of 64 KB', sent: respond({ input: [said(saidParts(1000, 64_000))] }) },
    {
      what: '128 functions of 20 fields, kept with the answer',
      sent: respond({
        tools: list(128, (at) => ({ type: 'function', name: `f_${at}`, parameters: wideSchema(20) })),
        metadata,
      }),
    },
    {
      what: '900 tokens, streamed',
      sent: respond({ stream: true, max_output_tokens: 900 }),
    },
    {
      what: 'one more message after a kept conversation',
      sent: ({ response: id }, asker) => respond({ previous_response_id: id })(undefined, asker),
    },
  ],
  openai_get_response: [
    { what: 'the largest kept response', sent: ({ response: id }) => ({ params: { response_id: id } }) },
  ],
  openai_list_response_input_items: [
    {
      what: '100 items of the largest kept response',
      sent: ({ response: id }) => ({ params: { response_id: id }, query: 'limit=100' }),
    },
  ],
}
