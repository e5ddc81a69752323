// The events of a streamed response, made from the chunks of a chat.
import type { z } from 'zod'
import type { EventStream } from '../kit/respond.ts'
import type { Usage } from './generation.ts'
import {
  callItem,
  emptyResponse,
  endedResponse,
  idWith,
  messageItem,
  outputText,
  type CallItem,
  type ModelResponse,
  type OutputItem,
} from './response-object.ts'
import type { ResponseRequest } from './response-schemas.ts'

type Chunk = {
  created: number
  model: string
  choices: {
    delta: { content?: string | null; tool_calls?: CallPiece[] }
    finish_reason: string | null
  }[]
  usage?: z.output<typeof Usage> | null
}
/** The first piece of a call has its id and its function's name. */
type CallPiece = { index: number; id?: string; function?: { name?: string; arguments?: string } }
type Send = (type: string, fields: object) => void

/** @param keep called with the whole response, before the client hears that it is whole */
export async function streamResponse(
  body: ResponseRequest,
  chat: EventStream,
  keep: (response: ModelResponse) => Promise<void>,
  sendData: (data: object) => void,
) {
  let sequence = 0
  const send: Send = (type, fields) => sendData({ type, sequence_number: sequence++, ...fields })
  let response: ModelResponse | null = null
  let finishReason: string | null = null
  let usage: Chunk['usage'] = null
  const text = growingText(send)
  const calls = growingCalls(send, () => (text.isBegun() ? 1 : 0))
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
      for (const piece of delta.tool_calls ?? []) calls.add(piece)
    }
  })
  if (!response) return
  const output = text.isBegun() || calls.count() === 0 ? [text.end(), ...calls.end()] : calls.end()
  const ended = endedResponse(response, { finishReason, usage: usage ?? null, output })
  await keep(ended)
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
    isBegun: () => isBegun,
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

/** Calls of functions, whose arguments grow. `offset` is the number of items before them. */
function growingCalls(send: Send, offset: () => number) {
  const calls = new Map<number, { item: CallItem; output_index: number }>()
  const begin = ({ index, id = idWith('call'), function: called }: CallPiece) => {
    const item = callItem({ id, type: 'function', function: { name: called?.name ?? '', arguments: '' } })
    const call = { item, output_index: offset() + calls.size }
    calls.set(index, call)
    send('response.output_item.added', { ...call, item: { ...item, status: 'in_progress' } })
    return call
  }
  return {
    count: () => calls.size,
    add(piece: CallPiece) {
      const { item, output_index } = calls.get(piece.index) ?? begin(piece)
      const delta = piece.function?.arguments ?? ''
      if (delta === '') return
      item.arguments += delta
      send('response.function_call_arguments.delta', { item_id: item.id, output_index, delta })
    },
    end: (): OutputItem[] =>
      [...calls.values()].map(({ item, output_index }) => {
        const { id: item_id, name, arguments: given } = item
        send('response.function_call_arguments.done', { item_id, output_index, name, arguments: given })
        send('response.output_item.done', { output_index, item })
        return item
      }),
  }
}
