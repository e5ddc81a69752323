// What an answer in text must look like, beside our own output_type.
import type { AnswerSchema } from './answer-schema/nodes.ts'
import type { AnswerPart } from './tools/call-reader.ts'

export type AnswerShape =
  /** JSON of a schema, complete within its tokens. */
  | { kind: 'schema'; schema: AnswerSchema }
  /** The caller's own grammar, passed on. Nothing bounds it but the tokens. */
  | { kind: 'regex'; regex: string }
  | { kind: 'grammar'; grammar: string }
  | CallsShape

/** Calls of functions, or, unless a call is required, an answer in text. */
export type CallsShape = {
  kind: 'calls'
  functions: readonly { name: string; schema: AnswerSchema }[]
  isRequired: boolean
  mayBeSeveral: boolean
  /** The shape of an answer that is no call. */
  content: AnswerSchema | null
  /** Receives the parts of a streamed answer. */
  onPart?: ((part: AnswerPart) => void) | undefined
}
