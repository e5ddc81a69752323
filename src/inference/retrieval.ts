// Puts the nearest stored rows before a prompt, in the layout of docs/retrieval.md, as many as leave room for the answer.
import { isText } from '../domain/prompt.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import type { Accepted } from './accept.ts'
import { runConcurrently } from './chunks.ts'
import { countInput } from './count-tokens.ts'
import type { CompletionRequest } from './request.ts'
import { maxPromptTokens } from './text-bounds.ts'
import { structureBytes } from './typed-output.ts'

/** The rows that were put before each prompt, nearest first. Absent: no prompt has rows. */
export type UsedRows = { usedRows?: string[][] }

const usualAnswerTokens = 256

/**
 * Puts the rows of an input before its prompts as long as an answer of the asked or the usual length still fits. A prompt without
 * room gets none. `usedRows` has the rows that each prompt got.
 */
export async function placeRows(
  request: Accepted<CompletionRequest>,
): Promise<{ input: CompletionRequest['input'] } & UsedRows> {
  const { input, signal } = request
  if (input.kind === 'chat' || !input.rows) return { input }
  const { rows, textLengths: sentLengths } = input
  const room = promptRoom(request)
  const prompts = input.prompts.filter(isText)
  const usedRows = prompts.map((): string[] => [])
  const textLengths = prompts.map((_, index) => sentLengths?.[index] ?? 0)
  await runConcurrently([...prompts.entries()], signal, async ([index, prompt], ownSignal) => {
    const textLengthOf = (text: string) => text.length - prompt.length + (sentLengths?.[index] ?? 0)
    const fits = async (text: string) => {
      if (maxPromptTokens(text) <= room) return true
      if (text.length > maxTextCharacters(room)) return false
      const counted = { kind: 'prompts', prompts: [text], textLengths: [textLengthOf(text)] } as const
      return (await countInput(request, counted, ownSignal)) <= room
    }
    const used = await rowsThatFit(prompt, rows[index] ?? [], fits)
    if (used.length === 0) return
    prompts[index] = layOut(prompt, used)
    // Stored rows are text, so they cannot end the prompt.
    textLengths[index] = textLengthOf(prompts[index])
    usedRows[index] = used
  })
  return { input: { kind: 'prompts', prompts, textLengths }, usedRows }
}

/** The most tokens that a prompt may have. */
function promptRoom({ baseModel: { contextLength }, answer }: CompletionRequest): number {
  const text = Math.min(answer.maxTokens ?? usualAnswerTokens, Math.floor(contextLength / 2))
  return contextLength - text - (answer.kind === 'typed' ? structureBytes(answer.outputType) : 0)
}

/** Drops the farthest rows where not all fit. */
async function rowsThatFit(
  prompt: string,
  rows: readonly string[],
  fits: (text: string) => Promise<boolean>,
): Promise<string[]> {
  for (let count = rows.length; count > 0; count--) {
    const nearest = rows.slice(0, count)
    if (await fits(layOut(prompt, nearest))) return nearest
  }
  return []
}

const layOut = (prompt: string, rows: readonly string[]) => `Information:\n${rows.join('\n')}\n\n${prompt}`
