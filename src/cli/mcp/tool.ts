// Defines the tools of the MCP server, and makes texts of bounded length of their answers.
import type { z as Zod } from 'zod'
import type { Client } from '../remote/client.ts'

type Shape = Zod.ZodRawShape

/** How a program that asks its user before a call tells the harmless calls from the others. */
export type Danger = 'reads' | 'adds' | 'ends'

/** Tells the caller how far a long call is, if the caller wants to know. */
export type Report = (progress: { done: number; of?: number | undefined; message: string }) => void

type ToolCall<S extends Shape> = {
  client: Client
  /** A client whose requests end earlier. */
  clientUntil: (signal: AbortSignal) => Client
  input: Zod.output<Zod.ZodObject<S>>
  /** Aborts when the caller gives up. */
  signal: AbortSignal
  report: Report
}

type ToolTable<S extends Shape> = {
  name: string
  title: string
  says: string
  danger: Danger
  takes: S
  /** An upload takes as long as its file needs. */
  hasNoLimit?: true
  run: (call: ToolCall<S>) => Promise<unknown>
}
export type Tool = ToolTable<Shape>

/** Erases the types of the arguments. The cast is safe because the server checks them by `takes`. */
export const defineTool = <S extends Shape>(tool: ToolTable<S>): Tool => tool as unknown as Tool

const mostCharacters = 16_000
/** Tried in this order: the most items of a list and the most characters of a text. */
const bounds = [
  { items: 100, characters: 4000 },
  { items: 50, characters: 1000 },
  { items: 25, characters: 300 },
  { items: 10, characters: 120 },
  { items: 3, characters: 60 },
] as const
type Bounds = (typeof bounds)[number]

/** JSON whose lists and texts are cut until the whole fits. What was left out is said where it was. */
export function answerText(value: unknown): string {
  for (const each of bounds) {
    const text = JSON.stringify(cut(value, each))
    if (text.length <= mostCharacters) return text
  }
  return `${JSON.stringify(cut(value, bounds[4])).slice(0, mostCharacters)}… (the rest is left out)`
}

function cut(value: unknown, most: Bounds): unknown {
  if (typeof value === 'string') {
    const left = value.length - most.characters
    return left > 0 ? `${value.slice(0, most.characters)}… (${left} more characters)` : value
  }
  if (Array.isArray(value)) {
    const shown = value.slice(0, most.items).map((each) => cut(each, most))
    const left = value.length - shown.length
    return left > 0 ? [...shown, `… (${left} more)`] : shown
  }
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([name, each]) => [name, cut(each, most)]))
}
