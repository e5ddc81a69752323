// Names that are made from ids, so that doing a thing twice names it the same.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { modelSlug } from './catalogue.ts'

export const fineTuneWorkflowPrefix = 'fine-tune-'
export const fineTuneWorkflowId = (jobId: number) => fineTuneWorkflowPrefix + jobId
export const attemptRunName = (jobId: number, attempt: number) => `ft-${jobId}-a${attempt}`
export const modelServerPrefix = 'model-server-'
export const modelServerName = (baseModel: string) => `${modelServerPrefix}${modelSlug(baseModel)}`

const dnsLabelLength = 63

/** Of one launch: never used again, so what acts on it late finds no later one. A DNS label however long the model's name. */
export function modelServerRunName(baseModel: string, generation: number): string {
  const suffix = `-g${generation}`
  const room = dnsLabelLength - suffix.length
  const name = modelServerName(baseModel)
  return (name.length <= room ? name : `${name.slice(0, room - 9)}-${sha256Hex(name).slice(0, 8)}`) + suffix
}

/** As text of a regular expression, without a group that captures. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const wholeUuid = new RegExp(`^${uuidPattern}$`)
export const isUuid = (text: string) => wholeUuid.test(text)

export const sha256 = (data: string | Uint8Array) => hash('sha256', data, 'buffer')
export const sha256Hex = (data: string | Uint8Array) => hash('sha256', data, 'hex')

/** JSON with sorted keys: equal values give equal text, and so equal hashes. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value)) ?? 'null'

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(sorted)
  const fields = value as Record<string, unknown>
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(fields).toSorted()) copy[key] = sorted(fields[key])
  return copy
}

/** Never reused: the job, and every byte of the model. */
export const tunedModelName = (jobId: number, files: readonly { name: string; sha256: string }[]) =>
  sha256Hex(canonicalJson({ jobId, files: files.map(({ name, sha256 }) => ({ name, sha256 })) }))

/**
 * The bearer token of an attempt or a model server. Derived, not stored: a launch that is tried again hands out the same one,
 * and a leaked database holds only its hash.
 */
export const podToken = (secret: string, subject: string) =>
  createHmac('sha256', secret).update(subject).digest('base64url')

/** What the operator sends to the admin routes: whoever has the secret can make it. */
export const operatorToken = (secret: string) => podToken(secret, 'operator')

const apiKeyPattern = /^ank_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

export function makeApiKey() {
  const id = randomBytes(8).toString('hex')
  return `ank_${id}_${randomBytes(32).toString('base64url')}`
}

/** A key's public id and the hash of its secret, which has 256 random bits and so needs no slow hash. */
export function parseApiKey(text: string): { id: string; secretHash: Buffer } | undefined {
  const match = apiKeyPattern.exec(text)
  return match?.[1] && match[2] ? { id: match[1], secretHash: sha256(match[2]) } : undefined
}

export const sameHash = (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b)
