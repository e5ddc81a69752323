// OpenAI's newer form of a chat, without state: translated to the chat route and back.
import type { z } from 'zod'
import { EventStream } from '../framework/respond.ts'
import { defineRoute, type Route } from '../framework/route.ts'
import { validate } from '../framework/validation.ts'
import { completionBodyLimitBytes } from '../routes/completion-input.ts'
import { ChatRequest, type ChatCompletion } from './chat-schemas.ts'
import { chatRoutes } from './chat.ts'
import { translateErrors } from './errors.ts'
import { streamResponse } from './response-events.ts'
import { callItem, emptyResponse, endedResponse, messageItem, ModelResponse } from './response-object.ts'
import { chatOf, ResponseRequest } from './response-schemas.ts'

/** The names of a chat's parameters in this form. */
const names = {
  messages: 'input',
  max_tokens: 'max_output_tokens',
  max_completion_tokens: 'max_output_tokens',
  response_format: 'text.format',
}

const [chat] = chatRoutes as [Route]

export const responseRoutes = [
  defineRoute({
    name: 'openai_create_response',
    method: 'post',
    path: '/openai/v1/responses',
    summary: 'Answer a text or a conversation, in the form of responses; nothing is stored',
    access: 'key',
    scope: 'inference',
    body: ResponseRequest,
    bodyLimitBytes: completionBodyLimitBytes,
    allowsNul: true,
    errorStatuses: [404],
    response: ModelResponse,
    alsoAnswers: 'text/event-stream',
    async handle(request) {
      const { body } = request
      const answer = await translateErrors(names, () =>
        chat.handle({ ...request, body: validate(ChatRequest, chatOf(body)) }),
      )
      if (answer instanceof EventStream)
        return new EventStream((send) => translateErrors(names, () => streamResponse(body, answer, send)))
      const { choices, usage, ...head } = answer as z.output<typeof ChatCompletion>
      const { message, finish_reason: finishReason } = choices[0] as (typeof choices)[number]
      const calls = message.tool_calls?.map(callItem) ?? []
      const output = message.content || calls.length === 0 ? [messageItem(message.content ?? ''), ...calls] : calls
      return endedResponse(emptyResponse(body, head), { finishReason, usage, output })
    },
  }),
]
