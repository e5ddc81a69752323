// Functions that an answer may call. The model writes calls in its own format; the arguments fit their schemas.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { SentSchema } from '../../domain/answer-schema/read-schemas.ts'
import type { CallsOf } from '../../domain/answer-shape.ts'
import type { ChatTool } from '../../domain/chat.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { ReadCall } from '../../domain/tools/call-reader.ts'
import { jsonSchema } from '../../domain/few-keys.ts'
import type { SentShape } from './response-format.ts'

const FunctionName = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or dashes')
const type = z
  .literal('function', { error: 'must be "function": no other type is supported' })
  .describe('Always function')

export const Tools = z
  .array(
    z.strictObject({
      type,
      function: z
        .strictObject({
          name: FunctionName.describe('Its name: 1 to 64 letters, digits, "_" or "-"'),
          description: z.string().nullish().describe('What it does, for the model'),
          parameters: jsonSchema.nullish().describe('A JSON schema of an object, as for response_format'),
          strict: z.boolean().nullish().describe('Accepted: arguments always fit the schema'),
        })
        .describe('The function'),
    }),
  )
  .max(128)
  .nullish()
  .describe('The functions that the answer may call')

export const ToolChoice = z
  .union(
    [
      z.enum(['none', 'auto', 'required']),
      z.strictObject({
        type,
        function: z
          .strictObject({ name: z.string().describe('The name of the function') })
          .describe('The function to call'),
      }),
    ],
    {
      error: 'must be "none", "auto", "required" or {"type": "function", "function": {"name": "..."}}',
    },
  )
  .nullish()

export const ToolCall = z.object({
  id: z.string().describe('The id of the call'),
  type: z.literal('function').describe('Always function'),
  function: z
    .object({ name: z.string().describe('Its name'), arguments: z.string().describe('JSON') })
    .describe('The function that is called'),
})

/** A call in a message, as an answer had it. */
export const SentToolCall = z.object({
  id: z.string().min(1).max(200).describe('The id of the call'),
  type,
  function: z
    .object({
      name: FunctionName.describe('Its name'),
      arguments: z
        .string()
        .max(1_000_000)
        .nullish()
        .transform((text) => text ?? '{}')
        .describe('The arguments, as the text of a JSON object; none when absent'),
    })
    .describe('The function that was called'),
})

export function isObjectText(text: string): boolean {
  try {
    const value: unknown = JSON.parse(text)
    return typeof value === 'object' && value !== null && !Array.isArray(value)
  } catch {
    return false
  }
}

type Asked = {
  tools?: z.output<typeof Tools>
  tool_choice?: z.output<typeof ToolChoice>
  parallel_tool_calls?: boolean | null | undefined
}

export type SentCalls = {
  /** Has all functions: one that may not be called is refused all the same if its schema is wrong. */
  shape: CallsOf<SentSchema>
  tools: ChatTool[]
  /** The only function that the answer may call. */
  only: string | null
  /** Ends an answer of whole calls, as OpenAI has it. */
  finishReason: 'stop' | 'tool_calls'
}

/**
 * @param content the shape of an answer that calls nothing
 * @returns null for an answer that may call nothing. @throws ServiceError invalid_input
 */
export function callsOf(
  { tools, tool_choice: choice, parallel_tool_calls: isParallel }: Asked,
  content: SentShape | null,
): SentCalls | null {
  if (!tools?.length) {
    if (!choice || choice === 'auto' || choice === 'none') return null
    throw invalidInput('tool_choice', 'tool_choice needs tools: send the function that it names.')
  }
  if (choice === 'none') return null
  const names = tools.map((tool) => tool.function.name)
  const twice = names.findIndex((name, index) => names.indexOf(name) !== index)
  if (twice >= 0)
    throw invalidInput(`tools[${twice}].function.name`, 'tools names two functions alike: rename one of them.')
  const isNamed = typeof choice === 'object' && choice !== null
  if (isNamed && !names.includes(choice.function.name))
    throw invalidInput('tool_choice', 'tool_choice names a function that is not in tools.')
  if (content && content.kind !== 'schema')
    throw invalidInput(
      'structured_outputs',
      'structured_outputs with tools takes json only: send tool_choice "none", or no tools.',
    )
  const functions = tools.map(({ function: { name, parameters } }, index) => {
    const at = `tools[${index}].function.parameters`
    if (parameters && parameters['type'] !== 'object') throw invalidInput(at, `${at}#/type must be "object".`)
    return { name, schema: { at, schema: parameters ?? noParameters } }
  })
  const shape: CallsOf<SentSchema> = {
    kind: 'calls',
    functions,
    isRequired: isNamed || choice === 'required',
    mayBeSeveral: !isNamed && isParallel !== false,
    content: content?.schema ?? null,
  }
  const only = isNamed ? choice.function.name : null
  return { shape, tools: tools.map(toolOf), only, finishReason: isNamed ? 'stop' : 'tool_calls' }
}

const noParameters = { type: 'object', properties: {} }

const toolOf = ({ function: called }: NonNullable<z.output<typeof Tools>>[number]): ChatTool => ({
  name: called.name,
  ...(typeof called.description === 'string' && { description: called.description }),
  parameters: called.parameters ?? noParameters,
})

export const toolCallOf = (call: ReadCall): z.output<typeof ToolCall> => ({
  id: `call_${randomUUID().replaceAll('-', '')}`,
  type: 'function',
  function: call,
})
