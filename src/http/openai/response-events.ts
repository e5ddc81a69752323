// The events of a streamed response, made from the chunks of a chat.
import type { z } from 'zod'
import type { EventStream } from '../framework/respond.ts'
import type { Usage } from './generation.ts'
import {
  callItem,
  emptyResponse,
  endedResponse,
  idWith,
  messageItem,
  outputText,
  type ModelResponse,
  type OutputItem,
} from './response-object.ts'
import type { ResponseRequest } from './response-schemas.ts'
import type { ToolCall } from './tools.ts'

type Chunk = {
  created: number
  model: string
  choices: {
    delta: { content?: string | null; tool_calls?: z.output<typeof ToolCall>[] }
    finish_reason: string | null
  }[]
  usage?: z.output<typeof Usage> | null
}
type Send = (type: string, fields: object) => void

export async function streamResponse(body: ResponseRequest, chat: EventStream, sendData: (data: object) => void) {
  let sequence = 0
  const send: Send = (type, fields) => sendData({ type, sequence_number: sequence++, ...fields })
  let response: ModelResponse | null = null
  let finishReason: string | null = null
  let usage: Chunk['usage'] = null
  const text = growingText(send)
  const output: OutputItem[] = []
  await chat.write((data) => {
    const chunk = data as Chunk
    if (!response) {
      response = emptyResponse(body, chunk)
      for (const type of ['response.created', 'response.in_progress']) send(type, { response })
    }
    usage = chunk.usage ?? usage
    for (const { delta, finish_reason } of chunk.choices) {
      finishReason = finish_reason ?? finishReason
      if (delta.content) text.add(delta.content)
      for (const call of delta.tool_calls ?? []) output.push(sendCall(send, callItem(call), output.length))
    }
  })
  if (!response) return
  if (output.length === 0) output.push(text.end())
  const ended = endedResponse(response, { finishReason, usage: usage ?? null, output })
  send(ended.status === 'incomplete' ? 'response.incomplete' : 'response.completed', { response: ended })
}

/** The one message of a response, whose text grows. */
function growingText(send: Send) {
  const id = idWith('msg')
  const at = { item_id: id, output_index: 0, content_index: 0 }
  let whole = ''
  let isBegun = false
  const begin = () => {
    if (isBegun) return
    isBegun = true
    const item = { ...messageItem('', id), status: 'in_progress', content: [] }
    send('response.output_item.added', { output_index: 0, item })
    send('response.content_part.added', { ...at, part: outputText('') })
  }
  return {
    add(piece: string) {
      begin()
      whole += piece
      send('response.output_text.delta', { ...at, delta: piece, logprobs: [] })
    },
    end(): OutputItem {
      begin()
      const item = messageItem(whole, id)
      send('response.output_text.done', { ...at, text: whole, logprobs: [] })
      send('response.content_part.done', { ...at, part: outputText(whole) })
      send('response.output_item.done', { output_index: 0, item })
      return item
    },
  }
}

function sendCall(send: Send, item: OutputItem, output_index: number): OutputItem {
  if (item.type !== 'function_call') return item
  const { id: item_id, name, arguments: given } = item
  send('response.output_item.added', { output_index, item: { ...item, status: 'in_progress', arguments: '' } })
  send('response.function_call_arguments.delta', { item_id, output_index, delta: given })
  send('response.function_call_arguments.done', { item_id, output_index, name, arguments: given })
  send('response.output_item.done', { output_index, item })
  return item
}
