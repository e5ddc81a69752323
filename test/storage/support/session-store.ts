// Stands before the S3 server of the tests and takes only the sessions of a small STS, as Amazon's S3 does. Checks each
// signature by its own reading of Signature Version 4, then signs the request anew with the server's static key.
import { createHash, createHmac, timingSafeEqual } from 'node:crypto'
import { once } from 'node:events'
import { createServer, request as send, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { pipeline } from 'node:stream/promises'
import type { Session } from './small-sts.ts'

type Keys = { accessKey: string; secretKey: string }
type Refusal = { code: string; count: number }

const region = 'us-east-1'
const algorithm = 'AWS4-HMAC-SHA256'

export async function startSessionStore(endpoint: string, keys: Keys, sessions: ReadonlyMap<string, Session>) {
  const refusals: Refusal[] = []
  const accepted = new Set<string>()
  const server = createServer((request, response) => {
    const { code, accessKey } = verdict(request, sessions)
    if (code !== null) {
      refusals.push({ code, count: refusals.length + 1 })
      request.resume()
      return void response
        .writeHead(403, { 'content-type': 'application/xml' })
        .end(`<Error><Code>${code}</Code></Error>`)
    }
    accepted.add(accessKey)
    forward(request, response, { endpoint, keys }).catch(() => response.destroy())
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}`,
    /** What it refused since it began. */
    refusals,
    /** The key ids that it took. */
    accepted,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}

type Signature = Record<'credential' | 'date' | 'signedHeaders' | 'signature' | 'sessionToken' | 'payload', string>

function verdict(request: IncomingMessage, sessions: ReadonlyMap<string, Session>) {
  const url = new URL(request.url ?? '/', `http://${request.headers.host}`)
  const isPresigned = url.searchParams.has('X-Amz-Signature')
  const given = isPresigned ? inQuery(url) : inHeaders(request)
  const accessKey = given.credential.split('/')[0] ?? ''
  const session = sessions.get(accessKey)
  if (!session) return { code: 'InvalidAccessKeyId', accessKey }
  if (given.sessionToken !== session.sessionToken) return { code: 'InvalidToken', accessKey }
  if (Date.now() >= session.endMs) return { code: 'ExpiredToken', accessKey }
  const endMs = timeOf(given.date) + Number(url.searchParams.get('X-Amz-Expires') ?? 900) * 1000
  if (Date.now() > endMs) return { code: 'AccessDenied', accessKey }
  url.searchParams.delete('X-Amz-Signature')
  const headers = given.signedHeaders.split(';').map((name): [string, string] => [name, String(request.headers[name])])
  const expected = sign(
    { method: request.method ?? '', url, headers, payload: given.payload },
    { date: given.date, secretKey: session.secretKey },
  )
  const isSame =
    expected.length === given.signature.length && timingSafeEqual(Buffer.from(expected), Buffer.from(given.signature))
  return { code: isSame ? null : 'SignatureDoesNotMatch', accessKey }
}

function inQuery({ searchParams }: URL): Signature {
  const field = (name: string) => searchParams.get(`X-Amz-${name}`) ?? ''
  return {
    credential: field('Credential'),
    date: field('Date'),
    signedHeaders: field('SignedHeaders'),
    signature: field('Signature'),
    sessionToken: field('Security-Token'),
    payload: 'UNSIGNED-PAYLOAD',
  }
}

function inHeaders({ headers }: IncomingMessage): Signature {
  const part = (name: string) => new RegExp(`${name}=([^,\\s]+)`).exec(headers.authorization ?? '')?.[1] ?? ''
  return {
    credential: part('Credential'),
    date: String(headers['x-amz-date']),
    signedHeaders: part('SignedHeaders'),
    signature: part('Signature'),
    sessionToken: String(headers['x-amz-security-token']),
    payload: String(headers['x-amz-content-sha256']),
  }
}

const timeOf = (date: string) =>
  Date.parse(date.replace(/^(\d{4})(\d\d)(\d\d)T(\d\d)(\d\d)(\d\d)Z$/, '$1-$2-$3T$4:$5:$6Z'))

type Signed = { method: string; url: URL; headers: [string, string][]; payload: string }

function sign({ method, url, headers, payload }: Signed, { date, secretKey }: { date: string; secretKey: string }) {
  const escaped = (value: string) =>
    encodeURIComponent(value).replace(/[!'()*]/g, (c) => `%${c.charCodeAt(0).toString(16).toUpperCase()}`)
  const query = [...url.searchParams]
    .map(([name, value]) => `${escaped(name)}=${escaped(value)}`)
    .toSorted()
    .join('&')
  const canonical = [
    ...[method, url.pathname, query],
    ...headers.map(([name, value]) => `${name}:${value.trim().replace(/ +/g, ' ')}`),
    ...['', headers.map(([name]) => name).join(';'), payload],
  ].join('\n')
  const scope = `${date.slice(0, 8)}/${region}/s3/aws4_request`
  const hash = createHash('sha256').update(canonical).digest('hex')
  const hmac = (key: string | Buffer, data: string) => createHmac('sha256', key).update(data).digest()
  const key = scope.split('/').reduce<string | Buffer>(hmac, `AWS4${secretKey}`)
  return hmac(key, [algorithm, date, scope, hash].join('\n')).toString('hex')
}

async function forward(
  request: IncomingMessage,
  response: ServerResponse,
  { endpoint, keys }: { endpoint: string; keys: Keys },
) {
  const url = new URL(request.url ?? '/', endpoint)
  for (const name of [...url.searchParams.keys()]) if (name.startsWith('X-Amz-')) url.searchParams.delete(name)
  const payload = 'UNSIGNED-PAYLOAD'
  const date = new Date().toISOString().replace(/[-:]|\.\d{3}/g, '')
  const dropped = ['authorization', 'x-amz-security-token', 'connection']
  const kept = Object.entries(request.headers).filter(([name]) => !dropped.includes(name))
  const headers: Record<string, string> = {
    ...Object.fromEntries(kept.map(([name, value]) => [name, String(value)])),
    host: url.host,
    'x-amz-date': date,
    'x-amz-content-sha256': payload,
  }
  const signed = Object.entries(headers)
    .filter(([name]) => name === 'host' || name.startsWith('x-amz-'))
    .toSorted(([a], [b]) => (a < b ? -1 : 1))
  const signature = sign(
    { method: request.method ?? '', url, headers: signed, payload },
    { date, secretKey: keys.secretKey },
  )
  const scope = `${keys.accessKey}/${date.slice(0, 8)}/${region}/s3/aws4_request`
  headers['authorization'] =
    `${algorithm} Credential=${scope}, SignedHeaders=${signed.map(([name]) => name).join(';')}, Signature=${signature}`
  const outgoing = send(url, { method: request.method, headers })
  const answered = once(outgoing, 'response') as Promise<[IncomingMessage]>
  await Promise.all([pipeline(request, outgoing), answered])
  const [incoming] = await answered
  response.writeHead(incoming.statusCode ?? 502, incoming.headers)
  await pipeline(incoming, response)
}
