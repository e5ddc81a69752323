// The identity provider: its addresses by OpenID Connect Discovery, and its signing keys. Both are asked for when they are first
// needed, so the service starts without it; known keys serve while it is away.
import { createRemoteJWKSet, errors, type JWTVerifyGetKey } from 'jose'
import { allowInsecureRequests, discovery, type Configuration } from 'openid-client'
import { ServiceError } from '../domain/service-error.ts'
import type { Log } from '../log.ts'

/** Between two questions of the same kind, so that nobody can make us ask more often. */
const askAgainMs = 30_000
const timeoutMs = 5000
/** A key that the provider has withdrawn is known for so long, and as long as the provider is away. */
const keysAgeMs = 10 * 60_000

export type IssuerSettings = { issuer: URL; clientId: string | null; clientSecret: string | undefined }

export type Issuer = ReturnType<typeof createIssuer>

/** The functions throw ServiceError unavailable while the provider has never answered. */
export function createIssuer({ issuer, clientId, clientSecret }: IssuerSettings, log: Log, now = Date.now) {
  const mayAskForAddresses = createPause(now)
  const mayAskForKeys = createPause(now)
  let found: Promise<Configuration> | undefined
  let loading: Promise<boolean> | undefined
  let keys: { get: ReturnType<typeof createRemoteJWKSet>; loadedAtMs: number } | undefined

  function configuration(): Promise<Configuration> {
    if (found) return found
    if (!mayAskForAddresses()) throw away()
    // A provider without TLS is the operator's choice, made with the address.
    const execute = issuer.protocol === 'http:' ? [allowInsecureRequests] : []
    const asked = discovery(issuer, clientId ?? 'none', clientSecret, undefined, { timeout: timeoutMs / 1000, execute })
    found = asked.catch((error: unknown) => {
      found = undefined
      log.warn({ err: error, issuer: issuer.href }, 'the identity provider does not answer')
      throw away()
    })
    return found
  }

  /** Asks for the keys, at most once in a while. @returns whether they are new */
  function load(get: ReturnType<typeof createRemoteJWKSet>): Promise<boolean> {
    if (!loading && !mayAskForKeys()) return Promise.resolve(false)
    loading ??= get
      .reload()
      .then(
        () => {
          keys = { get, loadedAtMs: now() }
          return true
        },
        (error: unknown) => {
          log.warn({ err: error }, 'the keys of the identity provider cannot be read; those that are known serve')
          return false
        },
      )
      .finally(() => (loading = undefined))
    return loading
  }

  async function knownKeys() {
    if (keys) {
      const ageMs = now() - keys.loadedAtMs
      if (ageMs <= keysAgeMs) return keys
      // Beside the request that finds them old, unless nobody has asked for long: a withdrawn key would be taken once more.
      const loaded = load(keys.get)
      if (ageMs > 2 * keysAgeMs) await loaded
      return keys
    }
    const { jwks_uri: address } = (await configuration()).serverMetadata()
    if (address === undefined) throw away()
    // The set asks by itself never again: `load` does, and has a bound also while the provider is away.
    const never = { cooldownDuration: Number.POSITIVE_INFINITY, cacheMaxAge: Number.POSITIVE_INFINITY }
    await load(createRemoteJWKSet(new URL(address), { ...never, timeoutDuration: timeoutMs }))
    if (!keys) throw away()
    return keys
  }

  const keyOf: JWTVerifyGetKey = async (header, token) => {
    const { get } = await knownKeys()
    try {
      return await get(header, token)
    } catch (error) {
      if (!(error instanceof errors.JWKSNoMatchingKey) || !(await load(get))) throw error
      return get(header, token)
    }
  }

  return { configuration, keyOf }
}

const away = () =>
  new ServiceError('unavailable', 'The identity provider does not answer. Try again, or use an API key.', {
    retryAfterSeconds: Math.ceil(askAgainMs / 1000),
  })

/** True once, and again only after a pause. */
function createPause(now: () => number): () => boolean {
  let lastMs = Number.NEGATIVE_INFINITY
  return () => {
    if (now() - lastMs < askAgainMs) return false
    lastMs = now()
    return true
  }
}
