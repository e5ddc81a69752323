import { z } from 'zod'

/** In a pair null is a value of the wrong type, not an absent field. */
const typeOnly = ({ code }: { code?: string }) => (code === 'invalid_type' ? 'must be a string' : undefined)

/** A key named __proto__ is dropped: z.record does so. */
export const Metadata = z
  .record(z.string().min(1).max(64), z.string({ error: typeOnly }).max(512))
  .refine((map) => Object.keys(map).length <= 16, { error: 'must have at most 16 keys' })
  .meta({ maxProperties: 16 })

const metadataKey = /^metadata\[([^\0]{1,64})\]$/u

export const isMetadataFilter = (name: string) => metadataKey.test(name)

/** @returns the pairs of `?metadata[key]=value` that the metadata of a job must hold, or null */
export function metadataIn(query: Readonly<Record<string, unknown>>): Record<string, string> | null {
  const pairs = Object.entries(query).flatMap(([name, value]) => {
    const key = metadataKey.exec(name)?.[1]
    return key === undefined ? [] : [[key, String(value)] as const]
  })
  return pairs.length === 0 ? null : Object.fromEntries(pairs)
}
