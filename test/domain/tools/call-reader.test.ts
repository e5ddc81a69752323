import assert from 'node:assert/strict'
import { describe, it } from 'node:test'
import { callFormat, type CallFormat } from '../../../src/domain/tools/call-format.ts'
import { createCallReader, readCalls } from '../../../src/domain/tools/call-reader.ts'

const calls = [
  { name: 'get_weather', arguments: '{"city":"Oslo {\\"}","at":[{"n":1}]}' },
  { name: 'now', arguments: '{}' },
]
const [first, second] = calls.map((call) => call.arguments)

/** As the models write them. */
const recorded: [string, CallFormat, string, string][] = [
  [
    'Qwen and Hermes',
    callFormat('hermes', null),
    'Let me see.\n',
    `<tool_call>\n{"name": "get_weather", "arguments": ${first}}\n</tool_call>\n<tool_call>\n{"name": "now", "arguments": ${second}}\n</tool_call>`,
  ],
  [
    'Llama 3',
    callFormat('llama3', null),
    '',
    `{"name": "get_weather", "parameters": ${first}}; {"name": "now", "parameters": ${second}}`,
  ],
  [
    'Mistral',
    callFormat('mistral', null),
    '',
    `[TOOL_CALLS][{"name": "get_weather", "arguments": ${first}}, {"name": "now", "arguments": ${second}}]`,
  ],
  [
    'Mistral, whose special token is not shown',
    callFormat('mistral', 5),
    'Let me see. ',
    `[{"name": "get_weather", "arguments": ${first}}, {"name": "now", "arguments": ${second}}]`,
  ],
]

describe('calls in the text of an answer', () => {
  for (const [model, format, text, written] of recorded) {
    it(`are read as ${model} writes them`, () => {
      assert.deepEqual(readCalls(format, text + written), { text, calls })
      const cut = readCalls(format, text + written.slice(0, written.indexOf('Oslo')))
      assert.deepEqual(cut, { text, calls: [{ name: 'get_weather', arguments: '{"city":"' }] })
    })

    it(`written by ${model} are never shown as text, in pieces of any size`, () => {
      const reader = createCallReader(format)
      const parts = [...Array.from(text + written).flatMap((piece) => reader.read(piece)), ...reader.end()]
      const joined = (kind: string) =>
        parts.flatMap((part) => (part.kind === kind && 'text' in part ? [part.text] : [])).join('')
      assert.equal(joined('text'), text)
      assert.equal(joined('arguments'), calls.map((call) => call.arguments).join(''))
      assert.deepEqual(
        parts.flatMap((part) => (part.kind === 'call' ? [part.name] : [])),
        ['get_weather', 'now'],
      )
    })
  }

  it('are absent from a text that only begins like a call', () => {
    for (const [, format] of recorded)
      for (const text of ['', 'Hello', 'a <tool_', 'a [TOOL', '<b>', '[{"na'])
        assert.deepEqual(readCalls(format, text), { text, calls: [] })
  })
})
