// Bounds of a body, without its rows, beside those of all JSON of users.
import type { JsonBounds } from '../../domain/json-bounds.ts'

const mebibyte = 1024 * 1024
/** The longest text that a row may hold, too. Receiving one from a thread is one copy, which nothing can divide. */
const textCharacters = 16 * mebibyte
/** A schema of the largest size that is read has a tenth of it. */
const objectNames = 10_000
/** The longest list in a body of an ordinary size has 10,000 ids. */
const valuesOfOrdinaryBody = 16_000

/** @param limitBytes of the route's body, without its rows */
export const boundsOf = (limitBytes: number): JsonBounds => ({
  characters: textCharacters,
  names: objectNames,
  ...(limitBytes <= mebibyte && { values: valuesOfOrdinaryBody }),
})

/** So many values are parsed in some milliseconds, and refused, each for itself, in twenty. */
const manyValues = 5000

/** Looking at every value takes long. */
export const holdsMany = (values: number) => values > manyValues
