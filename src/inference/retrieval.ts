// Puts the nearest stored rows before a prompt, in the layout of docs/retrieval.md, as many as leave room for the answer.
import { measured, type MeasuredChat } from '../domain/chat.ts'
import { isText } from '../domain/prompt.ts'
import { maxTextCharacters } from '../domain/text-length.ts'
import type { Accepted } from './accept.ts'
import { runConcurrently } from './chunks.ts'
import { countInput } from './count-tokens.ts'
import type { ChatInput, CompletionRequest, PromptsInput } from './request.ts'
import { maxPromptTokens } from './text-bounds.ts'
import { structureBytes } from './typed-output.ts'

/** The rows that were put before each prompt, nearest first. Absent: no prompt has rows. */
export type UsedRows = { usedRows?: string[][] }

const usualAnswerTokens = 256

/** A prompt or a chat, as the input of a call. */
type Single = PromptsInput | ChatInput

/**
 * Puts the rows of an input before its prompts, or into the last messages of its chats, as long as an answer of the asked or the
 * usual length still fits. A prompt without room gets none. `usedRows` has the rows that each prompt got.
 */
export async function placeRows(
  request: Accepted<CompletionRequest>,
): Promise<{ input: CompletionRequest['input'] } & UsedRows> {
  const { input, signal } = request
  if (!input.rows) return { input }
  const { rows } = input
  const room = promptRoom(request)
  const singles = input.kind === 'chat' ? chatsIn(input) : promptsIn(input)
  const usedRows = singles.map((): string[] => [])
  await runConcurrently([...singles.entries()], signal, async ([index, single], ownSignal) => {
    const fits = async (placed: Single) => {
      const text = textOf(placed)
      // The length that a chat template adds is not known here.
      if (placed.kind === 'prompts' && maxPromptTokens(text) <= room) return true
      if (text.length > maxTextCharacters(room)) return false
      return (await countInput(request, placed, ownSignal)) <= room
    }
    const nearest = rows[index] ?? []
    // The farthest rows are dropped where not all fit.
    for (let count = nearest.length; count > 0; count--) {
      const used = nearest.slice(0, count)
      const placed = withRows(single, used)
      if (!(await fits(placed))) continue
      singles[index] = placed
      usedRows[index] = used
      return
    }
  })
  return { input: joined(singles), usedRows }
}

const chatsIn = ({ chats }: ChatInput): Single[] => chats.map((chat) => ({ kind: 'chat', chats: [chat] }))

const promptsIn = ({ prompts, textLengths }: PromptsInput): Single[] =>
  prompts.filter(isText).map((prompt, index) => ({
    kind: 'prompts',
    prompts: [prompt],
    textLengths: [textLengths?.[index] ?? 0],
  }))

const textOf = (single: Single) => String(single.kind === 'chat' ? single.chats[0]?.text : single.prompts[0])

/** Stored rows are text, so special tokens in them do not act. */
function withRows(single: Single, rows: readonly string[]): Single {
  if (single.kind === 'chat') return { kind: 'chat', chats: single.chats.map((chat) => withRowsInLast(chat, rows)) }
  const prompt = textOf(single)
  const text = layOut(prompt, rows)
  return {
    kind: 'prompts',
    prompts: [text],
    textLengths: [text.length - prompt.length + (single.textLengths?.[0] ?? 0)],
  }
}

const withRowsInLast = ({ text: _text, ...chat }: MeasuredChat, rows: readonly string[]) =>
  measured({
    ...chat,
    messages: chat.messages.map((message, at) =>
      at === chat.messages.length - 1 ? { ...message, content: layOut(message.content, rows) } : message,
    ),
  })

function joined(singles: readonly Single[]): CompletionRequest['input'] {
  const chats = singles.flatMap((single) => (single.kind === 'chat' ? single.chats : []))
  if (chats.length > 0) return { kind: 'chat', chats }
  const prompts = singles.flatMap((single) => (single.kind === 'prompts' ? [single] : []))
  return {
    kind: 'prompts',
    prompts: prompts.flatMap((single) => single.prompts),
    textLengths: prompts.flatMap(({ textLengths = [] }) => textLengths),
  }
}

/** The most tokens that a prompt may have. */
function promptRoom({ baseModel: { contextLength }, answer }: CompletionRequest): number {
  const text = Math.min(answer.maxTokens ?? usualAnswerTokens, Math.floor(contextLength / 2))
  return contextLength - text - (answer.kind === 'typed' ? structureBytes(answer.outputType) : 0)
}

const layOut = (prompt: string, rows: readonly string[]) => `Information:\n${rows.join('\n')}\n\n${prompt}`
