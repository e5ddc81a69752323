// Rows of data sets as the trainer gets them.
import type { ChatMessage, toolOnWire } from '../domain/chat.ts'
import type { FieldName } from './row-fields.ts'

/**
 * `learned`: the positions of the assistant messages to train on, in ascending order. The last message is the last of them.
 * `muted`: the positions of those that have the weight 0; absent without any.
 */
export type Conversation = {
  messages: ChatMessage[]
  learned: number[]
  muted?: number[]
  tools?: ReturnType<typeof toolOnWire>[]
}

/** An answer that is compared with another one, or judged. In a conversation it is a message. */
export type Answer = { said: string | ChatMessage; isGood: boolean }

/**
 * For a conversation, `input` is the plain text before the last answer, and `output` is that answer. `answers` are those of a row
 * that does not teach one answer: two that are compared, the better one first, or some that are judged one by one.
 */
export type DatasetRow = {
  input: string
  output: string
  conversation?: Conversation
  answers?: { areCompared: boolean; list: Answer[] }
  /** Graders read these fields of a prompt for reinforcement. A prompt has no answer, so its `output` is empty. */
  item?: Record<string, unknown>
}

/** The result of a form of rows. `read`: the fields that the form has used. */
export type ReadRow = { row: DatasetRow; read: readonly FieldName[] }
