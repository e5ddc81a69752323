// Names derived from ids, so that a repeated step uses the same name, and hashes.
import { createHmac, hash, randomBytes, timingSafeEqual } from 'node:crypto'
import { modelSlug } from './catalogue.ts'

export const fineTuneWorkflowPrefix = 'fine-tune-'
export const fineTuneWorkflowId = (jobId: number) => fineTuneWorkflowPrefix + jobId
export const attemptRunName = (jobId: number, attempt: number) => `ft-${jobId}-a${attempt}`
const modelServerPrefix = 'model-server-'
export const modelServerName = (baseModel: string) => `${modelServerPrefix}${modelSlug(baseModel)}`

const dnsLabelLength = 63

/** The run name of one launch, a DNS label. It is never reused, so a late delete cannot hit a newer launch. */
export function modelServerRunName(baseModel: string, generation: number): string {
  const suffix = `-g${generation}`
  const room = dnsLabelLength - suffix.length
  const name = modelServerName(baseModel)
  return (name.length <= room ? name : `${name.slice(0, room - 9)}-${sha256Hex(name).slice(0, 8)}`) + suffix
}

/** Source of a regular expression, without capturing groups. */
export const uuidPattern = '[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}'
const wholeUuid = new RegExp(`^${uuidPattern}$`)
export const isUuid = (text: string) => wholeUuid.test(text)

export const sha256 = (data: string | Uint8Array) => hash('sha256', data, 'buffer')
export const sha256Hex = (data: string | Uint8Array) => hash('sha256', data, 'hex')

/** JSON with sorted keys, so that equal values have equal text and equal hashes. */
export const canonicalJson = (value: unknown): string => JSON.stringify(sorted(value)) ?? 'null'

function sorted(value: unknown): unknown {
  if (value === null || typeof value !== 'object') return value
  if (Array.isArray(value)) return value.map(sorted)
  const fields = value as Record<string, unknown>
  const copy: Record<string, unknown> = {}
  for (const key of Object.keys(fields).toSorted()) copy[key] = sorted(fields[key])
  return copy
}

/** A hash over the job and every byte of the model, so it is never reused. */
export const tunedModelName = (jobId: number, files: readonly { name: string; sha256: string }[]) =>
  sha256Hex(canonicalJson({ jobId, files: files.map(({ name, sha256 }) => ({ name, sha256 })) }))

/**
 * The bearer token of an attempt or a model server. It is derived, not stored: a retried launch gets the same token, and
 * a leaked database holds only its hash.
 */
export const podToken = (secret: string, subject: string) =>
  createHmac('sha256', secret).update(subject).digest('base64url')

/** The operator's bearer token for the admin routes. Everyone who knows the secret can derive it. */
export const operatorToken = (secret: string) => podToken(secret, 'operator')

const apiKeyPattern = /^ank_([0-9a-f]{16})_([A-Za-z0-9_-]{43})$/

export function makeApiKey() {
  const id = randomBytes(8).toString('hex')
  return `ank_${id}_${randomBytes(32).toString('base64url')}`
}

/** A key's public id and its secret's hash. A secret of 256 random bits needs no slow hash. */
export function parseApiKey(text: string): { id: string; secretHash: Buffer } | undefined {
  const match = apiKeyPattern.exec(text)
  return match?.[1] && match[2] ? { id: match[1], secretHash: sha256(match[2]) } : undefined
}

export const sameHash = (a: Uint8Array, b: Uint8Array) => a.length === b.length && timingSafeEqual(a, b)
