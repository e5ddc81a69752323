// Checks a token that the identity provider signed, as RFC 9068 (access tokens) and RFC 8725 (best practice) ask.
import { decodeProtectedHeader, errors, jwtVerify, type JWTPayload } from 'jose'
import { parseObject } from '../datasets/row-json.ts'
import { ServiceError } from '../domain/service-error.ts'
import { readClaims, type Claims } from './claims.ts'
import { invalidToken } from './invalid-token.ts'
import type { Issuer } from './issuer.ts'

/** Signatures by a private key only: with a shared secret whoever checks a token could make one. */
const algorithms = ['RS256', 'RS384', 'RS512', 'PS256', 'PS384', 'PS512', 'ES256', 'ES384', 'ES512', 'EdDSA', 'Ed25519']
/** Of two clocks. */
const skewSeconds = 60
const maxCharacters = 16_384
/** Other kinds of signed tokens, such as those that tell of a sign-out, are no credentials. */
const types = ['jwt', 'at+jwt', 'application/at+jwt']

export type TokenRules = { issuer: string; audiences: string[]; groupsClaim: string }

/** @throws ServiceError invalid_token; unavailable while the provider has never answered */
export async function verifyToken(token: string, rules: TokenRules, issuer: Pick<Issuer, 'keyOf'>): Promise<Claims> {
  return readClaims(await verifyPayload(token, rules, issuer), rules.groupsClaim)
}

/** The claims as the provider wrote them. @throws ServiceError as `verifyToken` */
export async function verifyPayload(
  token: string,
  { issuer, audiences }: Pick<TokenRules, 'issuer' | 'audiences'>,
  { keyOf }: Pick<Issuer, 'keyOf'>,
): Promise<JWTPayload> {
  if (token.length > maxCharacters) throw invalidToken(`it has more than ${maxCharacters} characters`)
  requireOneMeaning(token)
  try {
    const { payload, protectedHeader } = await jwtVerify(token, keyOf, {
      ...{ issuer, audience: audiences, algorithms, clockTolerance: skewSeconds },
      requiredClaims: ['iss', 'sub', 'aud', 'exp', 'iat'],
    })
    if (protectedHeader.typ !== undefined && !types.includes(protectedHeader.typ.toLowerCase()))
      throw invalidToken('its header typ is not that of an access token')
    if (Number(payload.iat) > Date.now() / 1000 + skewSeconds)
      throw invalidToken('it was issued in the future (claim iat)')
    return payload
  } catch (error) {
    if (error instanceof ServiceError) throw error
    throw invalidToken(error instanceof errors.JOSEError ? reasonOf(error) : keyIsUnusable)
  }
}

/** A short RSA key is a TypeError, and one that cannot be read a DOMException. Anybody can name such a key. */
const keyIsUnusable =
  'the signing key that it names cannot be used: RSA keys need 2048 bits, others a curve that is known'

/** A claim that stands twice could mean one thing here and another elsewhere. */
function requireOneMeaning(token: string) {
  const parts = token.split('.')
  if (parts.length !== 3) throw invalidToken('it is no signed JWT of three parts')
  for (const [name, part] of [
    ['header', parts[0] ?? ''],
    ['payload', parts[1] ?? ''],
  ]) {
    const read = parseObject(Buffer.from(part ?? '', 'base64url').toString('utf8'))
    if ('problem' in read) throw invalidToken(`its ${name} ${read.problem}`)
  }
  try {
    const { kid, typ } = decodeProtectedHeader(token)
    for (const [name, value] of Object.entries({ kid, typ }))
      if (value !== undefined && typeof value !== 'string') throw invalidToken(`its header ${name} is no text`)
  } catch (error) {
    throw error instanceof TypeError ? invalidToken('its header cannot be read') : error
  }
}

function reasonOf(error: errors.JOSEError): string {
  if (error instanceof errors.JWTExpired) return 'it has expired (claim exp)'
  if (error instanceof errors.JWTClaimValidationFailed) return claimReason(error)
  if (error instanceof errors.JOSEAlgNotAllowed) return 'its signature algorithm is not accepted'
  if (error instanceof errors.JWKSNoMatchingKey) return 'the identity provider has no such signing key'
  if (error instanceof errors.JWKSMultipleMatchingKeys) return 'its header names none of several signing keys'
  if (error instanceof errors.JWSSignatureVerificationFailed) return 'its signature does not fit'
  return 'it is no valid signed JWT'
}

function claimReason({ claim, reason }: errors.JWTClaimValidationFailed): string {
  if (reason === 'missing') return `it has no claim ${claim}`
  if (claim === 'aud') return 'it is meant for another service (claim aud)'
  if (claim === 'iss') return 'it is of another issuer (claim iss)'
  if (claim === 'nbf' && reason === 'check_failed') return 'it is not valid yet (claim nbf)'
  return `its claim ${claim} is not valid`
}
