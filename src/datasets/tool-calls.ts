// Functions and their calls in a row of messages, as OpenAI writes them.
import { excessOfLong } from '../domain/json-bounds.ts'
import type { ChatTool, MessageCall } from '../domain/chat.ts'
import type { RowProblem } from './dataset-row.ts'

const maxTools = 128
const functionName = /^[\w-]{1,64}$/

export function readTools(value: unknown): ChatTool[] | RowProblem {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.length > maxTools)
    return { field: 'tools', reason: `is not a list of at most ${maxTools} functions` }
  const tools: ChatTool[] = []
  for (const [index, each] of value.entries()) {
    const called = functionOf(each)
    const { name, description, parameters = {} } = called ?? {}
    if (!called || !isName(name) || !isObject(parameters))
      return { field: `tools[${index}]`, reason: 'is not a function with a name and parameters' }
    tools.push({ name, ...(typeof description === 'string' && { description }), parameters })
  }
  return tools
}

export function readCalls(value: unknown, at: string): MessageCall[] | RowProblem {
  if (value === undefined || value === null) return []
  if (!Array.isArray(value) || value.length > maxTools)
    return { field: at, reason: `is not a list of at most ${maxTools} calls` }
  const calls: MessageCall[] = []
  for (const [index, each] of value.entries()) {
    const called = functionOf(each)
    const id = isObject(each) ? each['id'] : undefined
    const { name, arguments: text } = called ?? {}
    if (!isName(name)) return { field: `${at}[${index}]`, reason: 'is not a call of a function' }
    if (!isObjectText(text))
      return { field: `${at}[${index}].function.arguments`, reason: 'is not a JSON object in a string' }
    calls.push({ id: typeof id === 'string' ? id : `call_${index}`, name, arguments: text })
  }
  return calls
}

function functionOf(value: unknown): Record<string, unknown> | null {
  const called = isObject(value) ? value['function'] : null
  return isObject(called) ? called : null
}

function isObjectText(value: unknown): value is string {
  if (typeof value !== 'string' || value.includes('\0') || excessOfLong(value) !== null) return false
  try {
    return isObject(JSON.parse(value))
  } catch {
    return false
  }
}

const isName = (value: unknown): value is string => typeof value === 'string' && functionName.test(value)
const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)
