// Bounds the lengths of a typed answer's values, so that the answer always closes before its tokens run out.
import type { OutputType } from '../domain/output-type.ts'
import { isText, type Prompt } from '../domain/prompt.ts'
import { characterBytes, maxDigits, stringFieldCount, structureBytes, type Limits } from './typed-output.ts'

/** `isCertain`: the longest possible answer fits. Otherwise an answer may run out of tokens and is asked for again, shorter. */
export type Bound = Limits & { maxTokens: number; isCertain: boolean }

/** An answer may have the rest of the context. */
type Room = { contextLength: number; promptTokens: number }

/** Characters that a token usually holds. */
const charactersPerToken = 4
const defaultTextTokens = 256
/** Limit over all strings of an answer: each position takes a few states of the engine's grammar, which has room for 50,000. */
const maxCharacters = 4096
/** Below this it pays to count the prompt's tokens exactly. */
const comfortableCharacters = 64
const fewCharacters = 8
const hopefulDigits = 8

/** Estimates the cost of a call with these texts before their tokens are counted. */
export const workOf = (prompts: readonly Prompt[], maxTokens: number) => ({
  rows: prompts.length,
  tokens: prompts.reduce((sum, prompt) => sum + estimatedTokens(prompt) + maxTokens, 0),
})

const estimatedTokens = (prompt: Prompt) =>
  isText(prompt) ? Math.ceil(prompt.length / charactersPerToken) : prompt.length

/** An upper bound: a token has at least one byte, and some models put one or two tokens first. */
export const maxPromptTokens = (prompt: string) => Buffer.byteLength(prompt) + 2

/** Characters per string that `max_tokens` allows. The context may allow fewer. */
export function allowedCharacters(fields: OutputType, maxTokens: number | null): number {
  const strings = stringFieldCount(fields)
  if (strings === 0) return 0
  const tokens = maxTokens === null ? defaultTextTokens : maxTokens / strings
  return Math.max(1, Math.min(Math.floor(tokens * charactersPerToken), Math.floor(maxCharacters / strings)))
}

/** @returns null when an exact count of the prompt's tokens might allow longer strings */
export function comfortableBound(fields: OutputType, allowed: number, room: Room): Bound | null {
  const bound = certainBound(fields, allowed, room)
  return bound && bound.characters >= Math.min(allowed, comfortableCharacters) ? bound : null
}

/** The longest bounds that fit. @returns null when no answer can fit */
export function tightBound(fields: OutputType, allowed: number, room: Room): Bound | null {
  const bound = certainBound(fields, allowed, room)
  if (bound && bound.characters >= Math.min(allowed, fewCharacters)) return bound
  return hopefulBound(fields, allowed, room)
}

/** Bounds for another try, with values half as long. */
export const shorter = (bound: Bound): Bound =>
  bound.isCertain ? bound : { ...bound, characters: half(bound.characters), digits: half(bound.digits) }

function certainBound(fields: OutputType, allowed: number, room: Room): Bound | null {
  const strings = stringFieldCount(fields)
  // One more token for the end.
  const structureTokens = structureBytes(fields) + 1
  const left = room.contextLength - room.promptTokens - structureTokens
  if (left < 0 || left < strings * characterBytes) return null
  const possible = strings === 0 ? 0 : Math.floor(left / (strings * characterBytes))
  // Rounded, so that few different grammars are compiled.
  const characters = possible >= allowed ? allowed : powerOfTwoUpTo(possible)
  const maxTokens = structureTokens + strings * characterBytes * characters
  return { characters, digits: maxDigits, maxTokens, isCertain: true }
}

/** Models rarely spell byte by byte: assume four bytes of structure, or one character of text, per token. */
function hopefulBound(fields: OutputType, allowed: number, room: Room): Bound | null {
  const strings = stringFieldCount(fields)
  const maxTokens = room.contextLength - room.promptTokens
  const left = maxTokens - 1 - Math.ceil(structureBytes(fields) / 4)
  if (left < 0 || left < strings) return null
  const characters = strings === 0 ? 0 : Math.min(allowed, powerOfTwoUpTo(Math.floor(left / strings)))
  return { characters, digits: hopefulDigits, maxTokens, isCertain: false }
}

const half = (value: number) => Math.max(1, Math.floor(value / 2))
const powerOfTwoUpTo = (value: number) => 2 ** Math.floor(Math.log2(value))
