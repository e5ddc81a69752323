// Validates input by zod and turns its issues into sentences that say what to fix.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { z } from 'zod'
import { ServiceError, type InputIssue } from '../../domain/service-error.ts'
import { withoutEmpty } from './empty-fields.ts'
import { shortened } from './problem.ts'

const maxIssues = 100
/** Bounds a path that contains names sent by the client. */
const maxPathCharacters = 200

/** Takes empty optional fields of a body for absent ones. @throws ServiceError invalid_input */
export const validateBody = <T extends z.ZodType>(
  schema: T,
  value: unknown,
  options: ValidateOptions = {},
): z.output<T> => validate(schema, withoutEmpty(schema, value), options)

/** `firstProblemOnly`: stops at the first, because each costs microseconds and a body may have half a million. */
type ValidateOptions = { firstProblemOnly?: boolean }

/**
 * A schema may have its own message: a phrase that follows the field's name, such as "must be a string".
 * @throws ServiceError invalid_input
 */
export function validate<T extends z.ZodType>(
  schema: T,
  value: unknown,
  { firstProblemOnly: abortEarly = false }: ValidateOptions = {},
): z.output<T> {
  // zod's own `validate` sets abortEarly, but gives no value and no error.
  const parsed = schema.safeParse(value, { error: phraseOf, ...({ abortEarly } as object) })
  if (parsed.success) return parsed.data
  throw invalid(onePerField(parsed.error.issues).slice(0, maxIssues))
}

/** Keeps one issue per field: zod also reports sizes of values that have the wrong type, and bounds of safe integers. */
function onePerField(issues: readonly z.core.$ZodIssue[]): InputIssue[] {
  const byPath = new Map<string, { code: string; issue: InputIssue }>()
  for (const issue of issues) {
    for (const each of withinUnion(issue))
      for (const { field, message } of fieldsOf(each))
        if (byPath.get(field)?.code !== 'invalid_type')
          byPath.set(field, { code: each.code, issue: issueAt(field, message) })
    if (byPath.size > maxIssues) break
  }
  return [...byPath.values()].map(({ issue }) => issue)
}

/** Reports each unknown key of a strict object as a field of its own, and a wrong key of a map at the map. */
function fieldsOf(issue: z.core.$ZodIssue): { field: string; message: string }[] {
  if (issue.code === 'invalid_key') {
    const key = JSON.stringify(shortened(String(issue.path.at(-1))))
    return [{ field: pathText(issue.path.slice(0, -1)), message: `has the key ${key}, which ${issue.message}` }]
  }
  if (issue.code !== 'unrecognized_keys') return [{ field: pathText(issue.path), message: issue.message }]
  return issue.keys.slice(0, maxIssues).map((key) => ({
    field: pathText([...issue.path, key]).slice(0, maxPathCharacters),
    message: 'is not a known parameter',
  }))
}

/** If only one alternative of a union can be meant, the problems are those of that alternative. */
function withinUnion(issue: z.core.$ZodIssue): z.core.$ZodIssue[] {
  if (issue.code !== 'invalid_union') return [issue]
  const branches = issue.errors.map((issues) => issues.flatMap(withinUnion))
  const meant = branches.filter((issues) => issues.length > 0 && !issues.some(excludes))
  const [only, ...others] = meant
  if (only && others.length === 0)
    return only.map((each) => ({ ...each, path: [...issue.path, ...each.path] }) as z.core.$ZodIssue)
  const types = branches.map(([first]) => (first?.code === 'invalid_type' && first.path.length === 0 ? first : null))
  if (issue.message !== notValid || branches.length === 0 || !types.every((type) => type !== null)) return [issue]
  const names = [...new Set(types.map(({ expected }) => typeNames[expected] ?? expected))]
  const isMissing = types.every(({ message }) => message === required)
  return [{ ...issue, message: isMissing ? required : `must be ${names.join(' or ')}` }]
}

/** The value is of another kind than the alternative: it differs as a whole, or in its `type`. */
const excludes = ({ code, path: [first, ...more] }: z.core.$ZodIssue) =>
  first === undefined
    ? code !== 'unrecognized_keys' && code !== 'custom'
    : first === 'type' && more.length === 0 && (code === 'invalid_value' || code === 'invalid_type')

/**
 * Refuses text that Postgres cannot hold: NUL, and lone surrogates. Lets other requests run meanwhile.
 * @throws ServiceError invalid_input
 */
export async function requireStorableText(value: unknown, options: { allowsNul: boolean }) {
  for (const _ of checkText(value, options)) await nextTurn()
}

/** Texts of so many characters are checked in a few milliseconds; a value counts as a few of them. */
const turnCharacters = 4_000_000
const valueCharacters = 200

/** Yields after each turn's work. Does not recurse, because the client chooses the depth. */
function* checkText(value: unknown, { allowsNul }: { allowsNul: boolean }) {
  let checked = 0
  const left: Place[] = [{ value, key: '', within: null }]
  for (let place = left.pop(); place; place = left.pop()) {
    const { value: each } = place
    checked += valueCharacters
    if (typeof each === 'string') {
      requireStorable(each, place, allowsNul)
      checked += each.length
    } else if (Array.isArray(each))
      for (const [key, inner] of each.entries()) {
        if (mayHoldText(inner)) left.push({ value: inner, key, within: place })
      }
    else if (typeof each === 'object' && each !== null)
      for (const [key, inner] of Object.entries(each)) {
        requireStorable(key, place, allowsNul)
        checked += valueCharacters
        if (mayHoldText(inner)) left.push({ value: inner, key, within: place })
      }
    if (checked < turnCharacters) continue
    yield
    checked = 0
  }
}

const mayHoldText = (value: unknown) => typeof value === 'string' || (typeof value === 'object' && value !== null)

type Place = { value: unknown; key: string | number; within: Place | null }

function requireStorable(text: string, place: Place, allowsNul: boolean) {
  if (!allowsNul && text.includes('\0')) throw invalid([issueAt(pathTo(place), 'must not contain NUL characters')])
  if (!text.isWellFormed()) throw invalid([issueAt(pathTo(place), 'must be valid Unicode, without lone surrogates')])
}

function pathTo(place: Place): string {
  const path: PropertyKey[] = []
  for (let at = place; at.within; at = at.within) path.push(at.key)
  return pathText(path.toReversed())
}

function invalid(issues: InputIssue[]): ServiceError {
  const more = issues.length - 1
  const tail = more === 0 ? '' : ` (${more} more ${more === 1 ? 'problem' : 'problems'} in "errors")`
  return new ServiceError('invalid_input', `${issues[0]?.message ?? 'The request is not valid.'}${tail}`, { issues })
}

const issueAt = (path: string, phrase: string): InputIssue => ({ path, message: `${path || 'The body'} ${phrase}.` })

/** Writes a path as in `data[3].input`. */
const pathText = (path: readonly PropertyKey[]) =>
  path.reduce<string>(
    (text, key) => (typeof key === 'number' ? `${text}[${key}]` : text ? `${text}.${String(key)}` : String(key)),
    '',
  )

const typeNames: Record<string, string> = {
  string: 'a string',
  number: 'a number',
  int: 'a whole number',
  boolean: 'true or false',
  array: 'a list',
  object: 'an object',
  record: 'an object',
}

const required = 'is required'
const notValid = 'is not valid'

function phraseOf(issue: z.core.$ZodRawIssue): string {
  switch (issue.code) {
    case 'invalid_type':
      // An item of a list is there, so null is a value of the wrong type.
      if ((issue.input ?? null) === null && typeof issue.path?.at(-1) !== 'number') return required
      return `must be ${typeNames[issue.expected as string] ?? String(issue.expected)}`
    case 'invalid_value':
      return oneOf((issue.values as unknown[]).map((each) => JSON.stringify(each)))
    case 'too_small':
      return sizePhrase(
        issue.origin as string,
        `${issue.inclusive === false ? 'more than' : 'at least'} ${String(issue.minimum)}`,
      )
    case 'too_big':
      return sizePhrase(
        issue.origin as string,
        `${issue.inclusive === false ? 'less than' : 'at most'} ${String(issue.maximum)}`,
      )
    case 'unrecognized_keys':
      return 'has unknown fields'
    case 'invalid_key':
      return issue.issues[0]?.message ?? notValid
    case 'invalid_format':
    case 'not_multiple_of':
    case 'invalid_union':
    case 'invalid_element':
    case 'custom':
      return notValid
  }
}

const oneOf = (values: string[]) =>
  values.length === 1 ? `must be ${values[0]}` : `must be one of ${values.join(', ')}`

function sizePhrase(origin: string, bound: string): string {
  if (bound === 'at least 1' && ['string', 'array', 'set'].includes(origin)) return 'must not be empty'
  if (origin === 'string') return `must have ${bound} characters`
  if (origin === 'array' || origin === 'set') return `must have ${bound} items`
  return `must be ${bound}`
}
