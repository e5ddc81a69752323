// Writes the request to a model that judges in a chat, and reads its answer.
import type { ChatJudge } from '../domain/item-grader.ts'
import { filled, textOf, type Room, type TemplateValues } from '../domain/item-template.ts'

/**
 * The body of a chat. The judge answers in JSON of a schema, so its answer is always a number of the range or one of the labels.
 * @throws MissingPart, TooLongTexts
 */
export function judgeRequest({ model, template, verdict, sampling }: ChatJudge, values: TemplateValues, room: Room) {
  const messages = template.map((message) => ({ role: message.role, content: filled(textOf(message), values, room) }))
  const answer =
    'labels' in verdict
      ? { type: 'string', enum: verdict.labels }
      : { type: 'number', minimum: verdict.range[0], maximum: verdict.range[1] }
  const schema = {
    type: 'object',
    properties: { verdict: answer },
    required: ['verdict'],
    additionalProperties: false,
  }
  return {
    model,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'verdict', schema, strict: true } },
    ...sampling,
  }
}

/** Null when the answer ended before its verdict. */
export function verdictOf({ verdict: wanted }: ChatJudge, answer: unknown): { score: number; label?: string } | null {
  const { verdict } = (answer ?? {}) as { verdict?: unknown }
  if ('range' in wanted) return typeof verdict === 'number' ? { score: verdict } : null
  return typeof verdict === 'string' ? { score: Number(wanted.passing.includes(verdict)), label: verdict } : null
}
