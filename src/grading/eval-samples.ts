// The samples of a run of an eval: answers of chats, or what the items bring along.
import { textParts, type EvalItem, type EvalSample, type SampleUsage } from '../domain/eval-run.ts'
import type { ChunkResults } from '../domain/inference-batch.ts'

/** Null with the reason when the model refused the item. */
export type Sampled = { sample: EvalSample; error: null } | { sample: null; error: string }

type Message = { content?: unknown; tool_calls?: unknown[] }
type Completion = {
  model?: string
  choices?: { message?: Message; finish_reason?: string }[]
  usage?: SampleUsage
}
type Line = {
  custom_id: string | null
  response: { status_code: number; body: Completion & { error?: { message?: string } } } | null
  error: { message?: string } | null
}

const noAnswer = 'The model has not answered this item.'

/** The samples of a chunk's lines, in the order of the items, whose positions are their `custom_id`. */
export function chatSamples(
  { values, errors }: Pick<ChunkResults, 'values' | 'errors'>,
  { start, count }: { start: number; count: number },
): Sampled[] {
  const byId = new Map(linesOf(values + errors).map((line) => [line.custom_id, line]))
  return Array.from({ length: count }, (_, at) => sampledOf(byId.get(String(start + at))))
}

const linesOf = (text: string): Line[] =>
  text.split('\n').flatMap((line) => (line === '' ? [] : (JSON.parse(line) as Line)))

function sampledOf(line: Line | undefined): Sampled {
  const { response = null, error = null } = line ?? {}
  if (response?.status_code === 200) return { sample: sampleOf(response.body), error: null }
  return { sample: null, error: response?.body.error?.message ?? error?.message ?? noAnswer }
}

function sampleOf({ model, choices, usage }: Completion): EvalSample {
  const { message, finish_reason: reason } = choices?.[0] ?? {}
  return {
    ...textParts(typeof message?.content === 'string' ? message.content : ''),
    ...(message?.tool_calls && { output_tools: message.tool_calls }),
    ...(model !== undefined && { model }),
    ...(reason !== undefined && { finish_reason: reason }),
    ...(usage && { usage }),
  }
}

/** An item's own sample has a text, or the choices of a chat. */
export function givenSample({ sample = {} }: EvalItem): Sampled {
  const { output_text: text } = sample
  const ofChat = sampleOf(sample as Completion)
  const parts = typeof text === 'string' ? textParts(text) : {}
  return { sample: { ...sample, ...ofChat, ...parts }, error: null }
}
