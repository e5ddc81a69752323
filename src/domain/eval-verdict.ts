// Writes the request to a judge of an eval, and reads its answer.
import { rangeOf, textOf, type Judge } from './eval-criteria.ts'
import { filled, type Room, type TemplateValues } from './item-template.ts'

/** A criterion's score of one item, before it is known whether the score passes. */
export type Found = { score: number; label?: string } | { score: null; error: string }

/**
 * The body of a chat. The judge answers in JSON of a schema, so its answer is always a number of the range or one of the labels.
 * @throws MissingPart, TooLongTexts
 */
export function judgeRequest(judge: Judge, values: TemplateValues, room: Room) {
  const messages = judge.input.map((message) => ({
    role: message.role,
    content: filled(textOf(message), values, room),
  }))
  const verdict =
    judge.type === 'label_model'
      ? { type: 'string', enum: judge.labels }
      : { type: 'number', minimum: rangeOf(judge)[0], maximum: rangeOf(judge)[1] }
  const schema = { type: 'object', properties: { verdict }, required: ['verdict'], additionalProperties: false }
  const sampling = judge.type === 'score_model' ? judge.sampling_params : null
  return {
    model: judge.model,
    messages,
    response_format: { type: 'json_schema', json_schema: { name: 'verdict', schema, strict: true } },
    temperature: sampling?.temperature ?? 0,
    top_p: sampling?.top_p,
    seed: sampling?.seed,
    max_completion_tokens: sampling?.max_completions_tokens,
  }
}

export function verdictOf(judge: Judge, answer: unknown): Found {
  const { verdict } = (answer ?? {}) as { verdict?: unknown }
  if (judge.type === 'score_model' && typeof verdict === 'number') return { score: verdict }
  if (judge.type === 'label_model' && typeof verdict === 'string')
    return { score: Number(judge.passing_labels.includes(verdict)), label: verdict }
  return { score: null, error: 'The judge ran out of tokens before its verdict.' }
}
