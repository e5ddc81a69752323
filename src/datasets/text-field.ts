import type { RowProblem } from './row-fields.ts'

/** Reads a field that holds a text. */
export function readText(value: unknown, field: string, { mayBeEmpty }: { mayBeEmpty: boolean }): string | RowProblem {
  if (value === undefined || value === null) return { field, reason: 'is missing' }
  if (typeof value !== 'string') return { field, reason: `is ${kindOf(value)}, not a string` }
  if (value === '' && !mayBeEmpty) return { field, reason: 'is empty' }
  return value.includes('\0') ? { field, reason: 'contains a NUL character' } : value
}

function kindOf(value: unknown): string {
  if (Array.isArray(value)) return 'an array'
  return typeof value === 'object' ? 'an object' : `a ${typeof value}`
}
