// Asks one model. Text arrives piece by piece; a typed answer at once.
import { createEventParser } from '../domain/event-stream.ts'
import { postJson, send } from './client.ts'
import { ApiError, problemOf } from './errors.ts'

export type Question = { path: string; body: Record<string, unknown>; isStreamed: boolean }

/** `rows` are the stored rows that were put before the prompt; a stream does not tell them. */
export type Answered = { text: string; rows: string[] | null }

/** @param onText gets the text so far */
export async function ask(
  { path, body, isStreamed }: Question,
  onText: (text: string) => void,
  signal: AbortSignal,
): Promise<Answered> {
  if (!isStreamed) {
    const { outputs, rows } = await postJson<List>(path, body, signal)
    const [output = {}] = outputs
    const text = 'output_type' in body ? JSON.stringify(output, null, 2) : String(output['output'])
    return { text, rows: rows[0] ?? [] }
  }
  const init = { method: 'POST', headers: { 'Content-Type': 'application/json' }, signal }
  const response = await send(path, { ...init, body: JSON.stringify({ ...body, stream: true }) })
  const parse = createEventParser()
  const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (let part = await reader?.read(); part && !part.done; part = await reader?.read()) {
    for (const { data } of parse(part.value)) text += pieceOf(data)
    onText(text)
  }
  return { text, rows: null }
}

type List = { outputs: Record<string, unknown>[]; rows: string[][] }

/** A failure after the first piece arrives as an event. @throws ApiError */
function pieceOf(data: string): string {
  if (data === '[DONE]' || data === '') return ''
  const chunk = JSON.parse(data) as { choices?: { text?: string; delta?: { content?: string } }[]; error?: object }
  if (chunk.error) throw new ApiError(problemOf(500, chunk))
  const [choice] = chunk.choices ?? []
  return choice?.text ?? choice?.delta?.content ?? ''
}
