// An identity provider of the tests' own, which signs whatever a test asks for: discovery and keys over loopback.
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import {
  CompactSign,
  exportJWK,
  generateKeyPair,
  type CompactJWSHeaderParameters,
  type CryptoKey,
  type JWK,
} from 'jose'

export const audience = 'anneal'

type SigningKey = { kid: string; alg: string; privateKey: CryptoKey; publicJwk: JWK }

async function makeKey(kid: string, alg: string): Promise<SigningKey> {
  const { privateKey, publicKey } = await generateKeyPair(alg, { extractable: true })
  return { kid, alg, privateKey, publicJwk: { ...(await exportJWK(publicKey)), kid, alg, use: 'sig' } }
}

/** @param others are served beside the key that signs. */
export async function startIssuer(others: JWK[] = []) {
  let key = await makeKey('first', 'RS256')
  let served = [key.publicJwk, ...others]
  const asked = { discovery: 0, keys: 0 }
  const sockets = createServer((request, response) => {
    const send = (body: object) => response.setHeader('content-type', 'application/json').end(JSON.stringify(body))
    if (request.url === '/.well-known/openid-configuration') {
      asked.discovery++
      send({
        issuer: url,
        jwks_uri: `${url}/keys`,
        authorization_endpoint: `${url}/auth`,
        token_endpoint: `${url}/token`,
      })
    } else if (request.url === '/keys') {
      asked.keys++
      send({ keys: served })
    } else response.writeHead(404).end()
  }).listen(0, '127.0.0.1')
  await once(sockets, 'listening')
  const { port } = sockets.address() as AddressInfo
  const url = `http://127.0.0.1:${port}`

  const payloadOf = (claims: object = {}) => {
    const now = Math.floor(Date.now() / 1000)
    return { iss: url, sub: 'ann', aud: audience, iat: now, exp: now + 600, groups: ['team'], ...claims }
  }

  return {
    url,
    asked,
    payloadOf,
    key: () => key,
    /** A token with these claims beside the usual ones; undefined takes a claim away. */
    sign: (claims: object = {}, header: Partial<CompactJWSHeaderParameters> = {}) =>
      signText(JSON.stringify(payloadOf(claims)), key, header),
    signText: (text: string, header: Partial<CompactJWSHeaderParameters> = {}) => signText(text, key, header),
    /** Signs with a new key from now on. `serves`: whether the provider names the key. */
    async rotate({ kid, alg = 'RS256', serves = true }: { kid: string; alg?: string; serves?: boolean }) {
      key = await makeKey(kid, alg)
      if (serves) served = [key.publicJwk]
      return key
    },
    stop: () =>
      new Promise<void>((resolve) => {
        sockets.closeAllConnections()
        sockets.close(() => resolve())
      }),
  }
}

export const signText = (
  text: string,
  { kid, alg, privateKey }: Pick<SigningKey, 'kid' | 'alg' | 'privateKey'>,
  header: Partial<CompactJWSHeaderParameters> = {},
) => new CompactSign(Buffer.from(text)).setProtectedHeader({ alg, kid, ...header }).sign(privateKey)
