// What an answer in text must look like, beside our own output_type.
import type { AnswerSchema } from './answer-schema/nodes.ts'
import type { AnswerPart } from './tools/call-reader.ts'

/**
 * A schema that was read and accepted. `parts` is null for a large one: a thread reads its text again for each use, because the
 * work would hold the event loop.
 */
export type AskedSchema = { at: string; text: string; parts: AnswerSchema | null }

export type AnswerShape = SchemaShape<AskedSchema> | GrammarShape | CallsShape

/** The caller's own grammar, passed on. Nothing bounds it but the tokens. */
export type GrammarShape = { kind: 'regex'; regex: string } | { kind: 'grammar'; grammar: string }

/** JSON of a schema, complete within its tokens. */
export type SchemaShape<Schema> = { kind: 'schema'; schema: Schema }

/** Calls of functions, or, unless a call is required, an answer in text. */
export type CallsOf<Schema> = {
  kind: 'calls'
  functions: readonly { name: string; schema: Schema }[]
  isRequired: boolean
  mayBeSeveral: boolean
  /** The shape of an answer that is no call. */
  content: Schema | null
}

/** The same shape of other schemas, with nothing but the shape. The content comes first. */
export function mapSchemas<From, To>(
  shape: SchemaShape<From> | CallsOf<From>,
  of: (schema: From) => To,
): SchemaShape<To> | CallsOf<To> {
  if (shape.kind === 'schema') return { kind: shape.kind, schema: of(shape.schema) }
  const { kind, isRequired, mayBeSeveral } = shape
  const content = shape.content === null ? null : of(shape.content)
  const functions = shape.functions.map(({ name, schema }) => ({ name, schema: of(schema) }))
  return { kind, functions, isRequired, mayBeSeveral, content }
}

export const schemasOf = <Schema>(shape: SchemaShape<Schema> | CallsOf<Schema>): Schema[] =>
  shape.kind === 'schema'
    ? [shape.schema]
    : [...(shape.content === null ? [] : [shape.content]), ...shape.functions.map(({ schema }) => schema)]

export type CallsShape = CallsOf<AskedSchema> & {
  /** Receives the parts of a streamed answer. */
  onPart?: ((part: AnswerPart) => void) | undefined
}
