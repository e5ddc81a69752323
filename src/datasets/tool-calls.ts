// Functions and their calls in a row of messages, as OpenAI writes them, and as texts of JSON in rows of ShareGPT.
import type { ChatTool, MessageCall } from '../domain/chat.ts'
import { isAbsent, isObject, noteUnread, type RowProblem } from './row-fields.ts'
import { parseObject, parseRow } from './row-json.ts'

const maxTools = 128
const functionName = /^[\w-]{1,64}$/

/** As in a chat, for a function that takes nothing. */
const noParameters = { type: 'object', properties: {} }

export function readTools(given: unknown, unread: string[]): ChatTool[] | RowProblem {
  if (isAbsent(given)) return []
  const value = typeof given === 'string' ? parsed(given) : given
  if (!Array.isArray(value) || value.length > maxTools)
    return { field: 'tools', reason: `is not a list of at most ${maxTools} functions` }
  const tools: ChatTool[] = []
  for (const [index, each] of value.entries()) {
    const called = functionOf(each)
    const { name, description } = called ?? {}
    const parameters = isAbsent(called?.['parameters']) ? noParameters : called?.['parameters']
    if (!called || !isName(name) || !isObject(parameters))
      return { field: `tools[${index}]`, reason: 'is not a function with a name and parameters' }
    if (called !== each && isObject(each)) noteUnread(each, ['type', 'function'], 'tools[]', unread)
    const read = ['name', typeof description === 'string' ? 'description' : '', 'parameters', 'strict', 'type']
    noteUnread(called, read, 'tools[].function', unread)
    tools.push({ name, ...(typeof description === 'string' && description !== '' && { description }), parameters })
  }
  return tools
}

type Calls = MessageCall[] | RowProblem

/** @param list the place of the calls in any row, for the names of fields that are not read */
export function readCalls(value: unknown, at: string, { list, unread }: { list: string; unread: string[] }): Calls {
  if (isAbsent(value)) return []
  if (!Array.isArray(value) || value.length > maxTools)
    return { field: at, reason: `is not a list of at most ${maxTools} calls` }
  const calls: MessageCall[] = []
  for (const [index, each] of value.entries()) {
    const called = isObject(each) ? each['function'] : null
    if (!isObject(each) || !isObject(called)) return { field: `${at}[${index}]`, reason: 'is not a call of a function' }
    const id = typeof each['id'] === 'string' ? each['id'] : `call_${index}`
    const call = readCall(called, id, {
      field: `${at}[${index}]`,
      argumentsField: `${at}[${index}].function.arguments`,
    })
    if ('reason' in call) return call
    noteUnread(each, ['id', 'type', 'index', 'function'], `${list}[]`, unread)
    noteUnread(called, ['name', 'arguments'], `${list}[].function`, unread)
    calls.push(call)
  }
  return calls
}

/** The calls that a text of JSON holds: one, or a list of them. */
export function readWrittenCalls(
  text: string | null,
  field: string,
  { index: message, list: messages, unread }: { index: number; list: string; unread: string[] },
): Calls {
  const value = text === null ? null : parsed(text)
  const list: unknown[] = Array.isArray(value) ? value : [value]
  const calls: MessageCall[] = []
  for (const [index, called] of list.entries()) {
    if (!isObject(called)) return { field, reason: 'is not a call such as {"name": "...", "arguments": {...}}' }
    const call = readCall(called, `call_${message}_${index}`, { field, argumentsField: field })
    if ('reason' in call) return call
    noteUnread(called, ['name', 'arguments'], `${messages}[].function_call`, unread)
    calls.push(call)
  }
  return calls
}

function readCall(
  { name, arguments: given }: Record<string, unknown>,
  id: string,
  { field, argumentsField }: { field: string; argumentsField: string },
): MessageCall | RowProblem {
  if (!isName(name)) return { field, reason: 'is not a call of a function' }
  const text = isAbsent(given) ? '{}' : isObject(given) ? JSON.stringify(given) : given
  const read = typeof text === 'string' && !text.includes('\0') ? parseObject(text) : null
  if (typeof text !== 'string' || !read) return { field: argumentsField, reason: 'is not a JSON object in a string' }
  if ('problem' in read) return { field: argumentsField, reason: read.problem }
  return { id, name, arguments: text }
}

/** With or without OpenAI's `{"type": "function", "function": ...}` around it. */
function functionOf(value: unknown): Record<string, unknown> | null {
  if (!isObject(value)) return null
  return isObject(value['function']) ? value['function'] : isAbsent(value['function']) ? value : null
}

function parsed(text: string): unknown {
  const read = parseRow(text)
  return 'value' in read ? read.value : undefined
}

const isName = (value: unknown): value is string => typeof value === 'string' && functionName.test(value)
