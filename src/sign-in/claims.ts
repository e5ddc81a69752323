// What a token says of a person. The signature, the issuer, the audience and the times have been checked before.
import { invalidToken } from './invalid-token.ts'

export type Claims = {
  issuer: string
  subject: string
  mail: string | null
  /** For people to read, such as `Ann Lee <ann@example.com>`; the subject without both. */
  name: string
  groups: string[]
  issuedAt: Date
  expiresAt: Date
}

/** OpenID Connect Core, section 2: a subject has at most 255 ASCII characters. */
const maxSubject = 255
const maxText = 320
const maxGroups = 10_000

type Payload = Readonly<Record<string, unknown>>

/** `groupsClaim`: a name, or names with dots between for a nested claim. @throws ServiceError invalid_token */
export function readClaims(payload: Payload, groupsClaim: string): Claims {
  const { iss, sub, iat, exp } = payload
  if (typeof iss !== 'string') throw invalidToken('its claim iss is no text')
  if (typeof sub !== 'string' || !isShown(sub, maxSubject) || /\p{Cf}/u.test(sub))
    throw invalidToken('its claim sub is no short text')
  if (payload['cnf'] !== undefined)
    throw invalidToken('it is bound to a key of its client (claim cnf), and only plain bearer tokens are taken')
  // Some providers write it as a text.
  const isUnverified = String(payload['email_verified']) === 'false'
  const mail = isUnverified ? null : textOf(payload, 'email')
  return {
    ...{ issuer: iss, subject: sub, mail },
    name: shownName(textOf(payload, 'name'), mail) ?? sub,
    groups: groupsOf(payload, groupsClaim),
    issuedAt: timeOf(iat, 'iat'),
    expiresAt: timeOf(exp, 'exp'),
  }
}

/** Seconds since 1970. `1e400` is a number, too, and never ends. */
function timeOf(seconds: unknown, claim: 'exp' | 'iat'): Date {
  const time = new Date(typeof seconds === 'number' ? seconds * 1000 : Number.NaN)
  if (Number.isNaN(time.getTime())) throw invalidToken(`its claim ${claim} is not a time in seconds`)
  return time
}

const shownName = (name: string | null, mail: string | null) =>
  name !== null && mail !== null ? `${name} <${mail}>` : (name ?? mail)

function textOf(payload: Payload, name: 'email' | 'name'): string | null {
  const value = own(payload, name)
  if (value === undefined || value === null || isBlank(value)) return null
  if (typeof value !== 'string' || !isShown(value, maxText)) throw invalidToken(`its claim ${name} is no short text`)
  return value.replaceAll(directionMarks, '')
}

/** They would turn around the text beside a name. */
const directionMarks = /[\u061C\u200E\u200F\u202A-\u202E\u2066-\u2069]/g

/** Some providers put a given and a family name together, which leaves a space where both are missing. */
const isBlank = (value: unknown) => typeof value === 'string' && !/[^\p{Cf} ]/u.test(value)

const isShown = (text: string, most: number) =>
  !isBlank(text) && text.length <= most && !/[\p{Cc}\p{Cs}\p{Zl}\p{Zp}]/u.test(text)

function groupsOf(payload: Payload, claim: string): string[] {
  const value = groupsIn(payload, claim)
  if (value === undefined) throw invalidToken(`it has no claim ${claim}, which names the groups of its person`)
  if (!Array.isArray(value) || !value.every((group): group is string => typeof group === 'string'))
    throw invalidToken(`its claim ${claim} is not a list of texts`)
  if (value.length > maxGroups) throw invalidToken(`its claim ${claim} has more than ${maxGroups} groups`)
  return value
}

/** The claim with this name, or the nested one. */
export const groupsIn = (payload: object, claim: string): unknown =>
  own(payload, claim) ?? nested(payload, claim.split('.'))

function nested(payload: unknown, names: readonly string[]): unknown {
  return names.reduce<unknown>((value, name) => own(value, name), payload)
}

/** Not what every object inherits. */
const own = (value: unknown, name: string): unknown =>
  typeof value === 'object' && value !== null && Object.hasOwn(value, name)
    ? (value as Record<string, unknown>)[name]
    : undefined
