// One request to a server that a user has named. Its name is resolved once, every address is checked, and the connection goes
// to a checked address, whatever the name resolves to later. Redirects are not followed.
import { Resolver } from 'node:dns/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { CallableAddresses } from '../../domain/callable-addresses.ts'
import { invalidInput } from '../../domain/service-error.ts'

export type CallRules = { allowsHttp: boolean; isCallable: CallableAddresses }

type Outgoing = {
  method: 'GET' | 'POST'
  url: string
  headers: Record<string, string>
  body?: string
  /** Of the answer. A longer one is cut, and its connection is closed. */
  maxAnswerBytes: number
  signal: AbortSignal
}

/** `isCut`: the answer was too long, or its connection ended before it. `text` is then a part of it. */
export type Incoming = { statusCode: number; headers: http.IncomingHttpHeaders; text: string; isCut: boolean }

export type ResolveHost = (host: string, signal: AbortSignal) => Promise<string[]>

/** Why a request was not made. */
class Refusal extends Error {}

export type Exchange = ReturnType<typeof createExchange>

export function createExchange({
  allowsHttp,
  isCallable,
  resolve = createResolveHost(),
}: CallRules & { resolve?: ResolveHost }) {
  /** @throws Error; `sentenceOf` says why */
  return async (outgoing: Outgoing): Promise<Incoming> => {
    const url = new URL(outgoing.url)
    if (url.protocol !== 'https:' && !allowsHttp) throw new Refusal('This service calls only https addresses.')
    const response = await send(url, outgoing, await addressesOf(hostOf(url), outgoing.signal))
    const read = await readText(response, outgoing.maxAnswerBytes)
    return { statusCode: response.statusCode ?? 0, headers: response.headers, ...read }
  }

  async function addressesOf(host: string, signal: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host]
    if (addresses.every(isCallable)) return addresses
    throw new Refusal(`${host} is, or resolves to, an address that this service may not call.`)
  }
}

export function sentenceOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const code = error instanceof Error && 'code' in error ? `: ${String(error.code)}` : ''
  return `The connection failed${code}.`
}

/** The host name, or the address without the brackets of IPv6. */
const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, '$1')

/**
 * Checks an address before its name is resolved; each request checks what it resolves to.
 * @param field its place in the request
 * @throws ServiceError invalid_input
 */
export function callableUrl({ allowsHttp, isCallable }: CallRules, field: string, text: string): string {
  const refuse = (what: string) => invalidInput(field, `${field} ${what}.`)
  if (!URL.canParse(text)) throw refuse('must be an address such as https://example.com/hooks')
  const url = new URL(text)
  if (url.protocol !== 'https:' && !(allowsHttp && url.protocol === 'http:')) throw refuse('must begin with https://')
  if (url.username !== '' || url.password !== '') throw refuse('must not hold a user name or a password')
  const host = hostOf(url)
  if (isIP(host) !== 0 && !isCallable(host)) throw refuse('names a private address, which this service does not call')
  url.hash = ''
  return url.href
}

/** Uses DNS alone: `dns.lookup` would hold a thread while a name server is silent. */
export function createResolveHost(nameServers?: readonly string[]): ResolveHost {
  return async (host, signal) => {
    if (/^(.+\.)?localhost\.?$/i.test(host)) return ['127.0.0.1', '::1']
    const resolver = new Resolver({ timeout: 3000, tries: 2 })
    if (nameServers) resolver.setServers(nameServers)
    signal.addEventListener('abort', () => resolver.cancel(), { once: true })
    const answers = await Promise.allSettled([resolver.resolve4(host), resolver.resolve6(host)])
    const addresses = answers.flatMap((answer) => (answer.status === 'fulfilled' ? answer.value : []))
    if (addresses.length === 0) throw new Refusal(`The host name ${host} cannot be resolved.`)
    return addresses
  }
}

function send(url: URL, { method, headers, body, signal }: Outgoing, addresses: readonly string[]) {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const { request } = url.protocol === 'https:' ? https : http
  const options = { method, headers, lookup: only(addresses), agent: false, signal } as const
  request(url, options).on('error', reject).on('response', resolve).end(body)
  return promise
}

/** Makes a connection by name use these addresses. */
const only =
  (addresses: readonly string[]): LookupFunction =>
  (_host, { all }, found) => {
    const known = addresses.map((address) => ({ address, family: isIP(address) }))
    if (all) found(null, known)
    else found(null, known[0]?.address ?? '', known[0]?.family)
  }

/** An error in the middle of the answer does not change its status. */
async function readText(response: http.IncomingMessage, maxBytes: number): Promise<{ text: string; isCut: boolean }> {
  const pieces: Buffer[] = []
  let bytes = 0
  let isCut = false
  try {
    for await (const piece of response as AsyncIterable<Buffer>) {
      bytes += piece.length
      isCut = bytes > maxBytes
      if (isCut) break
      pieces.push(piece)
    }
  } catch {
    isCut = true
  }
  return { text: Buffer.concat(pieces).toString(), isCut }
}
