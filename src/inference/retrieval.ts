// Puts the nearest stored rows before a prompt, in the layout of docs/retrieval.md, as many as leave room for the answer.
import { isText } from '../domain/prompt.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import { runConcurrently } from './chunks.ts'
import type { CompletionInput } from './completion.ts'
import { countTokens } from './engine-client.ts'
import { onServer, type Servers } from './call-with-failover.ts'
import { maxPromptTokens, workOf } from './text-bounds.ts'
import { structureBytes } from './typed-output.ts'

/** The rows of each prompt, nearest first. Null: no prompt has rows. */
export type RetrievedRows = { rows?: readonly (readonly string[])[] | null }

/** The rows that were put before each prompt, nearest first. Absent: no prompt has rows. */
export type UsedRows = { usedRows?: string[][] }

const usualAnswerTokens = 256

/**
 * Puts rows before each prompt as long as an answer of the asked or the usual length still fits. A prompt without room gets
 * none. `usedRows` has the rows that each prompt got.
 */
export async function withRows(
  servers: Servers,
  input: CompletionInput,
  rows: readonly (readonly string[])[],
): Promise<CompletionInput & { prompts: readonly string[]; usedRows: string[][] }> {
  const room = promptRoom(input)
  const prompts = input.prompts.filter(isText)
  const usedRows = prompts.map((): string[] => [])
  const textLengths = prompts.map((_, index) => input.textLengths?.[index] ?? 0)
  await runConcurrently([...prompts.entries()], input.signal, async ([index, prompt], signal) => {
    const textLengthOf = (text: string) => text.length - prompt.length + (input.textLengths?.[index] ?? 0)
    const fits = async (text: string) => {
      if (maxPromptTokens(text) <= room) return true
      if (text.length > maxTextCharacters(room)) return false
      const { count } = await onServer(servers, input, workOf([text], 0), signal, (endpoint, model, callSignal) =>
        countTokens(endpoint, { model, prompt: text, textLength: textLengthOf(text) }, callSignal),
      )
      return count <= room
    }
    const used = await rowsThatFit(prompt, rows[index] ?? [], fits)
    if (used.length === 0) return
    prompts[index] = layOut(prompt, used)
    // Stored rows are text, so they cannot end the prompt.
    textLengths[index] = textLengthOf(prompts[index])
    usedRows[index] = used
  })
  return { ...input, prompts, textLengths, usedRows }
}

/** The most tokens that a prompt may have. */
function promptRoom({ baseModel: { contextLength }, outputType, sampling }: CompletionInput): number {
  const text = Math.min(sampling.maxTokens ?? usualAnswerTokens, Math.floor(contextLength / 2))
  return contextLength - text - (outputType ? structureBytes(outputType) : 0)
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
