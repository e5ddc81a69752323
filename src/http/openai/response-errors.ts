// Errors of a chat in the words of the responses that it answers.
import { ServiceError } from '../../domain/service-error.ts'
import type { ResponseRequest } from './response-schemas.ts'

const words: readonly [RegExp, string][] = [
  [/\bmessages of the role tool\b/g, 'a function_call_output'],
  [/\bmessages\b/g, 'input'],
  [/\bmax_(?:completion_)?tokens\b/g, 'max_output_tokens'],
  [/\bresponse_format(?:\.json_schema)?\b/g, 'text.format'],
  [/\b(tools\[\d+\]|tool_choice)\.function\b/g, '$1'],
]
/** Fields of a message that are those of a call, or of its output. */
const fields: readonly [RegExp, string][] = [
  [/^\.tool_calls\[0\]\.function\.|^\.tool_calls\[0\]\./, '.'],
  [/^\.tool_calls.*$/, ''],
  [/^\.(?:tool_call_)?id$/, '.call_id'],
]

/** @param itemsBefore the number of items that were kept. Every item is a message of the chat, and so are instructions */
export async function inWordsOfResponses<T>(
  { instructions, input }: ResponseRequest,
  itemsBefore: number,
  run: () => Promise<T> | T,
): Promise<T> {
  const itemAt = (message: number, rest: string): string => {
    const at = message - itemsBefore - (instructions ? 1 : 0)
    if (instructions && message === 0) return 'instructions'
    if (at < 0) return 'previous_response_id'
    return typeof input === 'string' ? 'input' : `input[${at}]${replaced(fields, rest)}`
  }
  const translated = (text: string) =>
    replaced(
      words,
      text.replaceAll(/\bmessages\[(\d+)\]((?:\.\w+|\[\d+\])*)/g, (_, at: string, rest: string) =>
        itemAt(Number(at), rest),
      ),
    )
  try {
    return await run()
  } catch (error) {
    if (!(error instanceof ServiceError) || error.issues.length === 0) throw error
    const issues = error.issues.map(({ path, message }) => ({ path: translated(path), message: translated(message) }))
    throw new ServiceError(error.code, translated(error.message), { issues, isBeyondContext: error.isBeyondContext })
  }
}

const replaced = (rules: readonly [RegExp, string][], text: string) =>
  rules.reduce((result, [pattern, by]) => result.replace(pattern, by), text)
