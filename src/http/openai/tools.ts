// A call of one function, which the request has to name: its arguments are typed output. The model cannot choose by itself.
import { randomUUID } from 'node:crypto'
import { z } from 'zod'
import type { OutputType } from '../../domain/output-type.ts'
import { invalidInput } from '../../domain/service-error.ts'
import { outputTypeOfSchema } from './json-schema.ts'

const FunctionName = z.string().regex(/^[\w-]{1,64}$/, 'must be 1 to 64 letters, digits, underscores or dashes')
const type = z.literal('function', { error: 'must be "function": no other type is supported' })

export const Tools = z
  .array(
    z.strictObject({
      type,
      function: z.strictObject({
        name: FunctionName,
        description: z.string().nullish(),
        parameters: z
          .record(z.string(), z.unknown())
          .nullish()
          .describe('A schema with one level of fields, as for response_format'),
        strict: z.boolean().nullish(),
      }),
    }),
  )
  .max(128)
  .nullish()

export const ToolChoice = z
  .union(
    [z.enum(['none', 'auto', 'required']), z.strictObject({ type, function: z.strictObject({ name: z.string() }) })],
    {
      error: 'must be "none", "required" or {"type": "function", "function": {"name": "..."}}',
    },
  )
  .nullish()

export const ToolCall = z.object({
  id: z.string(),
  type: z.literal('function'),
  function: z.object({ name: z.string(), arguments: z.string().describe('JSON') }),
})

type Asked = { tools?: z.output<typeof Tools>; tool_choice?: z.output<typeof ToolChoice> }

/** `finishReason` ends a whole call, as OpenAI has it. */
export type ForcedCall = { name: string; outputType: OutputType | null; finishReason: 'stop' | 'tool_calls' }

/** @returns the function that the answer has to call, or null for an answer in text. @throws ServiceError invalid_input */
export function forcedCallOf({ tools, tool_choice: choice }: Asked): ForcedCall | null {
  if (!tools?.length) {
    if (!choice || choice === 'auto' || choice === 'none') return null
    throw invalidInput('tool_choice', 'tool_choice needs tools: send the function that it names.')
  }
  if (choice === 'none') return null
  const isNamed = typeof choice === 'object' && choice !== null
  if (!isNamed && (choice !== 'required' || tools.length > 1))
    throw invalidInput(
      'tool_choice',
      'tool_choice must name one function, or be "required" with a single tool: the model cannot choose by itself.',
    )
  const index = isNamed ? tools.findIndex((tool) => tool.function.name === choice.function.name) : 0
  const called = tools[index]?.function
  if (!called) throw invalidInput('tool_choice', 'tool_choice names a function that is not in tools.')
  const outputType = outputTypeOfSchema(called.parameters ?? {}, `tools[${index}].function.parameters`)
  return { name: called.name, outputType, finishReason: isNamed ? 'stop' : 'tool_calls' }
}

export const toolCallOf = ({ name }: ForcedCall, text: string): z.output<typeof ToolCall> => ({
  id: `call_${randomUUID().replaceAll('-', '')}`,
  type: 'function',
  function: { name, arguments: text },
})
