// Asks for credentials in the three ways of Amazon's SDKs. MinIO and Ceph have the first, too.
import { readFile } from 'node:fs/promises'

export type CredentialSource =
  | {
      kind: 'web-identity'
      stsUrl: string
      /** Read for each request: the platform replaces the token. */
      tokenFile: string
      roleArn: string | undefined
      sessionName: string
      /** How long the credentials are to live; undefined leaves that to the STS. */
      seconds: number | undefined
    }
  | { kind: 'container'; url: string; token: string | undefined; tokenFile: string | undefined }
  | { kind: 'instance'; url: string }

type Fetched = { accessKey: string; secretKey: string; sessionToken: string; lifetimeMs: number }

const timeoutMs = 5000
/** More is no answer of such a service. */
const maxAnswerChars = 64 * 1024

/** Counts as an outage: requests that need the store get 503. */
class CredentialsUnavailable extends Error {
  override name = 'CredentialsUnavailable'
  readonly code = 'CredentialsUnavailable'
}

/** @throws CredentialsUnavailable that names the service and what it answered, never a token */
export async function fetchCredentials(source: CredentialSource): Promise<Fetched> {
  try {
    const fetched = await ask(source)
    if (fetched.lifetimeMs > 0) return fetched
  } catch (error) {
    const { message, cause } = error as Error
    const reason = cause instanceof Error ? `${message}: ${cause.message}` : message
    throw new CredentialsUnavailable(`No credentials for the object store (${source.kind}): ${reason}`, {
      cause: error,
    })
  }
  throw new CredentialsUnavailable(`The credentials for the object store (${source.kind}) have ended already.`)
}

function ask(source: CredentialSource): Promise<Fetched> {
  switch (source.kind) {
    case 'web-identity':
      return ofWebIdentity(source)
    case 'container':
      return ofContainer(source)
    case 'instance':
      return ofInstance(source.url)
  }
}

async function ofWebIdentity(source: CredentialSource & { kind: 'web-identity' }): Promise<Fetched> {
  const body = new URLSearchParams({
    Action: 'AssumeRoleWithWebIdentity',
    Version: '2011-06-15',
    RoleSessionName: source.sessionName,
    ...(source.roleArn !== undefined && { RoleArn: source.roleArn }),
    ...(source.seconds !== undefined && { DurationSeconds: String(source.seconds) }),
    WebIdentityToken: (await readFile(source.tokenFile, 'utf8')).trim(),
  })
  const { text, nowMs } = await send(source.stsUrl, { method: 'POST', body })
  const field = (name: string) => new RegExp(`<${name}>([^<]+)</${name}>`).exec(text)?.[1]
  return checked({
    url: source.stsUrl,
    nowMs,
    accessKey: field('AccessKeyId'),
    secretKey: field('SecretAccessKey'),
    sessionToken: field('SessionToken'),
    expiration: field('Expiration'),
  })
}

async function ofContainer({ url, token, tokenFile }: CredentialSource & { kind: 'container' }): Promise<Fetched> {
  const authorization = tokenFile === undefined ? token : (await readFile(tokenFile, 'utf8')).trim()
  return fromJson(url, authorization === undefined ? {} : { authorization })
}

async function ofInstance(base: string): Promise<Fetched> {
  const ttl = { 'x-aws-ec2-metadata-token-ttl-seconds': '21600' }
  const { text: token } = await send(new URL('/latest/api/token', base).href, { method: 'PUT', headers: ttl })
  const headers = { 'x-aws-ec2-metadata-token': token }
  const roles = new URL('/latest/meta-data/iam/security-credentials/', base).href
  const [role = ''] = (await send(roles, { headers })).text.split(/\s/)
  if (role === '') throw new Error(`${roles} names no role: give the instance one`)
  return fromJson(roles + encodeURIComponent(role), headers)
}

async function fromJson(url: string, headers: Record<string, string>): Promise<Fetched> {
  const { text, nowMs } = await send(url, { headers })
  const json = JSON.parse(text) as Partial<Record<string, string>>
  return checked({
    url,
    nowMs,
    accessKey: json['AccessKeyId'],
    secretKey: json['SecretAccessKey'],
    sessionToken: json['Token'],
    expiration: json['Expiration'],
  })
}

type Answer = Record<'accessKey' | 'secretKey' | 'sessionToken' | 'expiration', string | undefined>

function checked({ url, nowMs, ...answer }: Answer & { url: string; nowMs: number }): Fetched {
  const { accessKey, secretKey, sessionToken, expiration } = answer
  const endMs = Date.parse(expiration ?? '')
  if (!accessKey || !secretKey || !sessionToken || Number.isNaN(endMs))
    throw new Error(`${url} answered without a key, a secret, a session token and an end`)
  return { accessKey, secretKey, sessionToken, lifetimeMs: endMs - nowMs }
}

/** @returns the time of the service, because our own clock may be wrong. Its header leaves out the part of a second */
async function send(url: string, request: RequestInit): Promise<{ text: string; nowMs: number }> {
  const response = await fetch(url, { ...request, redirect: 'error', signal: AbortSignal.timeout(timeoutMs) })
  const text = (await response.text()).slice(0, maxAnswerChars)
  if (!response.ok) throw new Error(`${url} answered ${response.status}: ${text.replace(/\s+/g, ' ').slice(0, 300)}`)
  return { text, nowMs: Date.parse(response.headers.get('date') ?? '') + 999 || Date.now() }
}
