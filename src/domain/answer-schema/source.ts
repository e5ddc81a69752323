// A part of a schema with its path, and the refusals that name it.
import { invalidInput, type ServiceError } from '../service-error.ts'

export type Json = Record<string, unknown>

/** `at` is the parameter of the request. Pointers are written only where a part is refused: a long name would be in many. */
export type Place = { at: string; within: Place | null; keys: readonly (string | number)[] }

const longestPath = 300

export const wholeAt = (at: string): Place => ({ at, within: null, keys: [] })
export const inside = (place: Place, ...keys: (string | number)[]): Place => ({ at: place.at, within: place, keys })

/** The JSON pointer of the place in its schema. */
function pointerOf(place: Place): string {
  const keys: (string | number)[] = []
  for (let each: Place | null = place; each; each = each.within) keys.unshift(...each.keys)
  return keys.map((key) => `/${String(key).slice(0, longestPath).replaceAll('~', '~0').replaceAll('/', '~1')}`).join('')
}

/** @param what completes the sentence that the path begins */
export function refuse(place: Place, what: string): ServiceError {
  const path = `${place.at}#${pointerOf(place)}`.slice(0, longestPath)
  return invalidInput(path, `${path} ${what}`)
}

export const isJsonObject = (value: unknown): value is Json =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

/**
 * Generators of schemas write null, "" or [] for a keyword that they leave out. PHP also writes an empty map as [].
 * Values of const and default, and maps of schemas, are as they are.
 */
export const withoutEmpty = (schema: Json): Json =>
  Object.fromEntries(
    Object.entries(schema).flatMap(([keyword, value]) => {
      const isEmptyList = Array.isArray(value) && value.length === 0
      if (keyword === 'const' || keyword === 'default') return [[keyword, value]]
      if (keyword === 'properties' && isEmptyList) return [[keyword, {}]]
      return value === null || value === '' || isEmptyList ? [] : [[keyword, value]]
    }),
  )

/** Reads a whole number of 0 or more. @returns the default for an absent keyword */
export function countAt<T>(schema: Json, keyword: string, place: Place, absent: T): number | T {
  const value = schema[keyword]
  if (value === undefined) return absent
  if (!Number.isSafeInteger(value) || (value as number) < 0)
    throw refuse(inside(place, keyword), 'must be a whole number of 0 or more.')
  return value as number
}

/** Reads a finite number. */
export function numberAt(schema: Json, keyword: string, place: Place): number | null {
  const value = schema[keyword]
  if (value === undefined) return null
  if (typeof value !== 'number' || !Number.isFinite(value)) throw refuse(inside(place, keyword), 'must be a number.')
  return value
}
