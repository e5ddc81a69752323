// Fields of a body that its schema does not know. Clients of the original platform send many, so they are accepted, and a header
// tells that they have no effect.
import type { z } from 'zod'
import { notesOnNames } from '../../domain/argument-names.ts'
import type { Route } from './route.ts'

/** Proxies refuse headers of more than a few kilobytes. */
const mostNotes = 3
/** A body may have ten thousand names. */
const mostNames = 1000

/** Whether unknown fields are told in the header. Other routes refuse them, or tell them in the body. */
export const tellsUnknownFields = (route: Route) => knownFields(route) !== null

/** @returns sentences in ASCII, or null when every field is known */
export function unknownFieldsNote(route: Route, sent: unknown): string | null {
  const known = knownFields(route)
  if (known === null || typeof sent !== 'object' || sent === null) return null
  const values = sent as Record<string, unknown>
  const names = Object.keys(values).slice(0, mostNames)
  const fields = Object.fromEntries(names.map((name) => [name, values[name]]))
  const notes = notesOnNames(null, fields, known).map(({ message }) => message)
  if (notes.length === 0) return null
  const more = notes.length > mostNotes ? ['Other fields have no effect either.'] : []
  return inAscii([...notes.slice(0, mostNotes), ...more].join(' '))
}

function knownFields({ body, access }: Pick<Route, 'body' | 'access'>): string[] | null {
  const def = (body as z.core.$ZodTypes | undefined)?._zod.def
  // Pods run our own programs.
  const isTold = def?.type === 'object' && def.catchall === undefined && access !== 'pod'
  return isTold ? Object.keys(def.shape) : null
}

const inAscii = (text: string) =>
  text.replaceAll(/[^\x20-\x7e]/g, (unit) => String.raw`\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`)
