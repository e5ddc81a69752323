// One request to a user's server. The name is resolved once, every address is checked, and the connection goes to a checked
// address, whatever the name resolves to later. Redirects are not followed; the body of the answer is dropped.
import { Resolver } from 'node:dns/promises'
import * as http from 'node:http'
import * as https from 'node:https'
import { isIP, type LookupFunction } from 'node:net'
import type { CallableAddresses } from '../../domain/callable-addresses.ts'

export type CallRules = { allowsHttp: boolean; isCallable: CallableAddresses }

type Call = { url: string; headers: Record<string, string>; body: string; signal: AbortSignal }

/** `error` is a sentence; null for an answer of 2xx. */
export type Answer = { statusCode: number | null; error: string | null; retryAfterMs: number }

export type ResolveHost = (host: string, signal: AbortSignal) => Promise<string[]>

const maxBodyBytes = 64 * 1024

class Refusal extends Error {}

export function createCall({
  allowsHttp,
  isCallable,
  resolve = createResolveHost(),
  timeoutMs = 15_000,
}: CallRules & { resolve?: ResolveHost; timeoutMs?: number }) {
  /** @returns null when `signal` has aborted */
  return async ({ signal: stopping, ...call }: Call): Promise<Answer | null> => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([stopping, timeout])
    try {
      const url = new URL(call.url)
      if (url.protocol !== 'https:' && !allowsHttp) throw new Refusal('This service calls only https addresses.')
      const addresses = await addressesOf(hostOf(url), signal)
      return await answerTo(await post(url, call, addresses, signal))
    } catch (error) {
      if (stopping.aborted) return null
      const sentence = timeout.aborted ? `No answer within ${timeoutMs / 1000} seconds.` : sentenceOf(error)
      return { statusCode: null, error: sentence, retryAfterMs: 0 }
    }
  }

  async function addressesOf(host: string, signal: AbortSignal): Promise<string[]> {
    const addresses = isIP(host) === 0 ? await resolve(host, signal) : [host]
    if (addresses.every(isCallable)) return addresses
    throw new Refusal(`${host} is, or resolves to, an address that this service may not call.`)
  }
}

/** The host name, or the address without the brackets of IPv6. */
export const hostOf = ({ hostname }: URL) => hostname.replace(/^\[(.*)\]$/, '$1')

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

function post(url: URL, { headers, body }: Omit<Call, 'signal'>, addresses: readonly string[], signal: AbortSignal) {
  const { promise, resolve, reject } = Promise.withResolvers<http.IncomingMessage>()
  const { request } = url.protocol === 'https:' ? https : http
  const options = { method: 'POST', headers, lookup: only(addresses), agent: false, signal } as const
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

async function answerTo(response: http.IncomingMessage): Promise<Answer> {
  const { statusCode = 0, headers } = response
  await readOff(response).catch(() => undefined)
  if (statusCode >= 200 && statusCode < 300) return { statusCode, error: null, retryAfterMs: 0 }
  const isRedirect = statusCode >= 300 && statusCode < 400
  const seconds = /^\d{1,9}$/.test(headers['retry-after'] ?? '') ? Number(headers['retry-after']) : 0
  const error = `The endpoint answered ${statusCode}${isRedirect ? ': redirects are not followed' : ''}.`
  return { statusCode, error, retryAfterMs: seconds * 1000 }
}

/** Reads the answer up to a size, so that the receiver sees it taken. An error here does not change the result. */
async function readOff(response: http.IncomingMessage) {
  let bytes = 0
  for await (const chunk of response) {
    bytes += (chunk as Buffer).length
    if (bytes > maxBodyBytes) return
  }
}

function sentenceOf(error: unknown): string {
  if (error instanceof Refusal) return error.message
  const code = error instanceof Error && 'code' in error ? `: ${String(error.code)}` : ''
  return `The connection failed${code}.`
}
