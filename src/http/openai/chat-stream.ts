// The deltas of a streamed chat completion.
import type { AnswerPart } from '../../domain/tools/call-reader.ts'
import { toolCallOf } from './tools.ts'

/** @param send takes the next delta. @returns what to call with each piece of text, or with each part of an answer with calls */
export function createDeltas(send: (delta: object, finishReason?: null, logprobs?: unknown) => void) {
  let hasStarted = false
  let calls = 0
  const say = (delta: object, logprobs?: unknown) => {
    send(hasStarted ? delta : { role: 'assistant', ...delta }, null, logprobs)
    hasStarted = true
  }
  const onText = (content: string, logprobs?: unknown) => say({ content }, logprobs)
  return {
    onText,
    onPart: (part: AnswerPart) => {
      if (part.kind === 'text') return onText(part.text)
      if (part.kind === 'arguments')
        return say({ tool_calls: [{ index: calls - 1, function: { arguments: part.text } }] })
      const call = { index: calls++, ...toolCallOf({ name: part.name, arguments: '' }) }
      say(hasStarted ? { tool_calls: [call] } : { content: null, tool_calls: [call] })
    },
    hasStarted: () => hasStarted,
  }
}
