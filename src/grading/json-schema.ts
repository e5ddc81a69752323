// JSON Schemas of users. Before a schema is compiled it is checked that no answer can make it slow.
import { Ajv2020 } from 'ajv/dist/2020.js'
import { parsedJson } from '../domain/parsed-json.ts'
import { linearPattern } from './linear-pattern.ts'

/** Schemas inside the schema, each reference counted as what it refers to. */
const maxExpandedSize = 500
const maxCharacters = 32_768
const maxPatterns = 50
const maxDepth = 64
/** Longer answers do not fit any schema. */
const maxAnswerCharacters = 65_536
/** Slow on long lists, resolved at other places, loaded from elsewhere, or checked by a promise that nobody awaits. */
const refused = new Set(['uniqueItems', '$dynamicRef', '$recursiveRef', '$id', '$anchor', '$dynamicAnchor', '$async'])

type Json = Record<string, unknown>

/** @throws Error that says what is wrong with the schema */
export function jsonValidator(schema: Json): (text: string) => boolean {
  if (JSON.stringify(schema).length > maxCharacters)
    throw new Error(`the schema is longer than ${maxCharacters} characters of JSON`)
  requireBounded(schema)
  const ajv = new Ajv2020({ strict: false, validateFormats: false, logger: false, code: { regExp: re2 } })
  const validate = ajv.compile(schema)
  return (text) => {
    const value = text.length > maxAnswerCharacters ? undefined : parsed(text)
    return value !== undefined && validate(value) === true
  }
}

/** Takes the JSON out of a fence of Markdown, as chat models write it. @returns undefined for text that is not JSON, or too long */
export function parsed(text: string): unknown {
  const fenced = /^```(?:json)?\n([\s\S]*)\n```$/.exec(text.trim())
  return parsedJson(fenced?.[1] ?? text)
}

/** Whether a value has the kinds and fields of another. A list has the shape of the first item. */
export function hasShape(value: unknown, example: unknown): boolean {
  if (kindOf(value) !== kindOf(example)) return false
  if (Array.isArray(value)) return value.every((item) => itemFits(item, example as unknown[]))
  if (!isObject(value) || !isObject(example)) return true
  const names = Object.keys(example)
  return (
    names.length === Object.keys(value).length &&
    names.every((name) => Object.hasOwn(value, name) && hasShape(value[name], example[name]))
  )
}

const itemFits = (item: unknown, [first]: unknown[]) => first === undefined || hasShape(item, first)

const kindOf = (value: unknown) => (value === null ? 'null' : Array.isArray(value) ? 'array' : typeof value)

const isObject = (value: unknown): value is Json => kindOf(value) === 'object'

/** Ajv takes this in place of RegExp, and tells patterns apart by their `toString`. */
const re2 = Object.assign((pattern: string) => ({ test: linearPattern(pattern), toString: () => pattern }), {
  code: 're2',
})

function requireBounded(root: Json) {
  let size = 0
  let patterns = 0
  const visit = (value: unknown, depth: number, references: readonly string[]) => {
    if (typeof value !== 'object' || value === null) return
    if (++size > maxExpandedSize) throw new Error(`the schema is too large: it may hold ${maxExpandedSize} parts`)
    if (depth > maxDepth) throw new Error(`the schema is too deep: it may have ${maxDepth} levels`)
    for (const [key, part] of Object.entries(value)) {
      // Counted where something refers to them.
      if (depth === 0 && (key === '$defs' || key === 'definitions')) continue
      if (key === 'pattern' && typeof part === 'string' && ++patterns > maxPatterns)
        throw new Error(`the schema is too large: it may hold ${maxPatterns} patterns`)
      if (refused.has(key)) throw new Error(`the schema may not use ${key}`)
      if (key !== '$ref') visit(part, depth + 1, references)
      else if (typeof part !== 'string' || !part.startsWith('#/'))
        throw new Error('a $ref of the schema may only refer to a part of the schema, such as #/$defs/item')
      else if (references.includes(part)) throw new Error(`the schema refers to itself at ${part}`)
      else visit(partAt(root, part), depth + 1, [...references, part])
    }
  }
  visit(root, 0, [])
}

function partAt(root: Json, reference: string): unknown {
  let part: unknown = root
  for (const step of reference.slice(2).split('/')) {
    const name = decodeURIComponent(step).replaceAll('~1', '/').replaceAll('~0', '~')
    part = isObject(part) && Object.hasOwn(part, name) ? part[name] : undefined
  }
  if (part === undefined) throw new Error(`the schema has no part ${reference}`)
  return part
}
