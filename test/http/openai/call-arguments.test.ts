import assert from 'node:assert/strict'
import { test } from 'node:test'
import { validate } from '../../../src/http/kit/validation.ts'
import { ChatRequest } from '../../../src/http/openai/chat-schemas.ts'

/** A conversation whose calls have these arguments, each with its result. */
function conversation(texts: readonly string[]) {
  const id = (at: number) => `call_${at}`
  const calls = texts.map((text, at) => ({ id: id(at), type: 'function', function: { name: 'f', arguments: text } }))
  const results = texts.map((_, at) => ({ role: 'tool', tool_call_id: id(at), content: 'done' }))
  const messages = [
    { role: 'user', content: 'Who?' },
    { role: 'assistant', content: null, tool_calls: calls },
    ...results,
  ]
  return { model: 'tiny', messages }
}

const text = (characters: number) => JSON.stringify({ a: 'x'.repeat(characters - 8) })

test('the arguments of all calls of a conversation have a bound together', () => {
  validate(ChatRequest, conversation([text(500_000), text(500_000)]))
  assert.throws(() => validate(ChatRequest, conversation([text(500_000), text(500_000), '{}'])), {
    message:
      'messages[1].tool_calls[2].function.arguments and those before must have at most 1000000 characters together.',
  })
})

test('arguments that are no JSON object are refused at their place', () => {
  for (const wrong of ['', '[]', '{', 'null', '"a"'])
    assert.throws(() => validate(ChatRequest, conversation(['{}', wrong])), {
      message: 'messages[1].tool_calls[1].function.arguments must be a JSON object.',
    })
})
