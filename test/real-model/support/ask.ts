// Requests to /openai/v1, whole and streamed.
import assert from 'node:assert/strict'
import { connection, type Api } from '../../support/stack.ts'
import type { Message } from './reference.ts'

export type Scored = { token: string; logprob: number; bytes: number[] }
type Call = { id: string; function: { name: string; arguments: string } }
export type Chat = {
  choices: {
    message: { content: string | null; tool_calls?: Call[] }
    finish_reason: string
    logprobs: { content: Scored[] } | null
  }[]
  usage: { prompt_tokens: number; completion_tokens: number; total_tokens: number }
}
type Completion = {
  choices: {
    text: string
    finish_reason: string
    logprobs: { tokens: string[]; token_logprobs: (number | null)[]; text_offset: number[] } | null
  }[]
  usage: Chat['usage']
}
type Delta = { content?: string | null; tool_calls?: { index: number; function: Partial<Call['function']> }[] }
type Chunk = {
  choices: { text?: string; delta?: Delta; finish_reason: string | null; logprobs?: { content: Scored[] } | null }[]
  usage?: Chat['usage'] | null
}

export function createAsk(api: Api, model: string) {
  const chat = async (messages: Message[] | object[], more: object = {}) => {
    const body = { model, messages, temperature: 0, ...more }
    const { choices, usage } = await api.post<Chat>('/openai/v1/chat/completions', body)
    return { ...(choices[0] ?? assert.fail()), usage }
  }
  const complete = async (prompt: string | number[], more: object = {}) => {
    const body = { model, prompt, temperature: 0, ...more }
    const { choices, usage } = await api.post<Completion>('/openai/v1/completions', body)
    return { ...(choices[0] ?? assert.fail()), usage }
  }

  /** The chunks of a streamed answer. */
  async function chunks(path: string, body: object): Promise<Chunk[]> {
    const response = await fetch(`${connection().apiUrl}/openai/v1/${path}`, {
      method: 'POST',
      headers: { authorization: `Bearer ${api.apiKey}`, 'content-type': 'application/json' },
      body: JSON.stringify({ model, temperature: 0, stream: true, stream_options: { include_usage: true }, ...body }),
    })
    const text = await response.text()
    assert.equal(response.status, 200, text)
    const events = text.split('\n\n').filter((event) => event.startsWith('data: '))
    assert.equal(events.pop(), 'data: [DONE]')
    return events.map((event) => JSON.parse(event.slice('data: '.length)) as Chunk)
  }

  /** A streamed chat, put together. */
  async function streamed(messages: object[], more: object = {}) {
    const all = await chunks('chat/completions', { messages, ...more })
    const choices = all.flatMap((chunk) => chunk.choices)
    const pieces = choices.flatMap(({ delta }) => (delta?.content ? [delta.content] : []))
    const calls: { name: string; arguments: string }[] = []
    for (const { index, function: part } of choices.flatMap(({ delta }) => delta?.tool_calls ?? [])) {
      const call = (calls[index] ??= { name: '', arguments: '' })
      call.name += part.name ?? ''
      call.arguments += part.arguments ?? ''
    }
    const finishReason = choices.findLast(({ finish_reason }) => finish_reason)?.finish_reason
    const scores = choices.flatMap(({ logprobs }) => logprobs?.content ?? [])
    return { pieces, text: pieces.join(''), calls, finishReason, scores, usage: all.at(-1)?.usage }
  }

  async function fileText(id: string): Promise<string> {
    const headers = { authorization: `Bearer ${api.apiKey}` }
    return (await fetch(`${connection().apiUrl}/openai/v1/files/${id}/content`, { headers })).text()
  }
  return { chat, complete, streamed, fileText }
}

export const textOf = (scores: readonly Scored[]) =>
  new TextDecoder('utf-8', { fatal: true }).decode(Uint8Array.from(scores.flatMap(({ bytes }) => bytes)))

export function assertNear(actual: readonly (number | null)[], expected: readonly number[]) {
  assert.equal(actual.length, expected.length)
  for (const [at, value] of expected.entries())
    assert.ok(Math.abs((actual[at] ?? Number.NaN) - value) < 2e-3, `at ${at}: ${actual[at]} is not ${value}`)
}
