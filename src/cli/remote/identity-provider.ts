// The identity provider of a service, as the command line knows it: a public client without a secret.
import type { Configuration } from 'openid-client'
import { CommandError, exitCodes } from '../command-error.ts'

const timeoutSeconds = 10

/** `audience`: for what the service wants a bearer token to be meant. */
export type Provider = { issuer: string; clientId: string; audience: string }

/** `expiresAt` is a time in ISO 8601. */
export type Tokens = { token: string; expiresAt: string; refreshToken: string | null }

/** The provider answers with these tokens. The service may take the access token or the token of identity, if it is signed. */
export type Granted = { access_token: string; id_token?: string | undefined; refresh_token?: string | undefined }

/** @throws CommandError unreachable */
export async function openProvider({ issuer, clientId }: Pick<Provider, 'issuer' | 'clientId'>) {
  const sdk = await import('./oidc-sdk.ts')
  const address = new URL(issuer)
  const execute = address.protocol === 'http:' ? [sdk.allowInsecureRequests] : []
  const options = { timeout: timeoutSeconds, execute }
  const known: Configuration = await sdk
    .discovery(address, clientId, undefined, undefined, options)
    .catch((error: unknown) => {
      throw unreachable(issuer, error)
    })
  return { sdk, known }
}

const unreachable = (issuer: string, error: unknown) =>
  new CommandError(`The identity provider ${issuer} does not answer (${reasonOf(error)}).`, exitCodes.unreachable)

/** @throws CommandError when neither token is signed for the service */
export function tokensOf(granted: Granted, { audience, clientId }: Provider): Tokens {
  const candidates = [
    [granted.access_token, audience],
    [granted.id_token, audience],
    [granted.id_token, clientId],
  ] as const
  for (const [token, wanted] of candidates) {
    const { aud, exp } = payloadOf(token ?? '')
    if (token === undefined || typeof exp !== 'number' || ![aud].flat().includes(wanted)) continue
    return { token, expiresAt: new Date(exp * 1000).toISOString(), refreshToken: granted.refresh_token ?? null }
  }
  throw new CommandError(
    `The identity provider gave no signed token that is meant for "${audience}". Its operator has to add this audience.`,
  )
}

/** Only to choose: the service checks the token. */
export function payloadOf(token: string): Record<string, unknown> {
  try {
    return JSON.parse(Buffer.from(token.split('.')[1] ?? '', 'base64url').toString()) as Record<string, unknown>
  } catch {
    return {}
  }
}

/** The words of the provider are shown only if they are short words of a protocol. */
export function reasonOf(error: unknown): string {
  const { error: code, code: ours, cause } = error as { error?: unknown; code?: unknown; cause?: { code?: unknown } }
  const word = [code, cause?.code, ours].find((each) => typeof each === 'string' && /^[\w-]{1,60}$/.test(each))
  return typeof word === 'string' ? word : 'no answer that fits'
}

/** Whether the provider has answered and refused, so that a repeat is refused as well. */
export const isRefusal = (error: unknown) => typeof (error as { error?: unknown }).error === 'string'
