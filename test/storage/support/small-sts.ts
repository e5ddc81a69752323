// A service that hands out credentials that end: an STS for web identities, an agent of containers, a metadata service.
import { randomBytes } from 'node:crypto'
import { once } from 'node:events'
import { createServer, type IncomingMessage } from 'node:http'
import type { AddressInfo } from 'node:net'
import { text } from 'node:stream/consumers'

export type Session = { secretKey: string; sessionToken: string; endMs: number }

export const instanceRole = 'role of the machine'

export async function startSmallSts({ seconds }: { seconds: number }) {
  const sessions = new Map<string, Session>()
  const state = { seconds, asked: 0, refusal: null as null | { status: number; body: string }, tokens: [] as string[] }

  function begin() {
    const accessKey = `ASIA${randomBytes(8).toString('hex').toUpperCase()}`
    const endMs = Math.ceil((Date.now() + state.seconds * 1000) / 1000) * 1000
    const session = {
      secretKey: randomBytes(20).toString('hex'),
      sessionToken: randomBytes(48).toString('base64'),
      endMs,
    }
    sessions.set(accessKey, session)
    return { accessKey, ...session, expiration: new Date(endMs).toISOString() }
  }

  async function answer(request: IncomingMessage): Promise<string> {
    const { pathname } = new URL(request.url ?? '/', 'http://sts')
    if (pathname === '/latest/api/token') return 'imds-token'
    if (pathname === '/latest/meta-data/iam/security-credentials/') return `${instanceRole}\n`
    state.asked++
    if (request.method === 'POST') {
      const form = new URLSearchParams(await text(request))
      state.tokens.push(form.get('WebIdentityToken') ?? '')
      if (form.has('DurationSeconds')) state.seconds = Number(form.get('DurationSeconds'))
      const { accessKey, secretKey, sessionToken, expiration } = begin()
      return (
        '<AssumeRoleWithWebIdentityResponse xmlns="https://sts.amazonaws.com/doc/2011-06-15/">' +
        `<AssumeRoleWithWebIdentityResult><Credentials><AccessKeyId>${accessKey}</AccessKeyId>` +
        `<SecretAccessKey>${secretKey}</SecretAccessKey><SessionToken>${sessionToken}</SessionToken>` +
        `<Expiration>${expiration}</Expiration></Credentials></AssumeRoleWithWebIdentityResult></AssumeRoleWithWebIdentityResponse>`
      )
    }
    const { authorization, 'x-aws-ec2-metadata-token': instanceToken } = request.headers
    state.tokens.push(authorization ?? String(instanceToken))
    const { accessKey, secretKey, sessionToken, expiration } = begin()
    return JSON.stringify({
      AccessKeyId: accessKey,
      SecretAccessKey: secretKey,
      Token: sessionToken,
      Expiration: expiration,
    })
  }

  const server = createServer((request, response) => {
    if (state.refusal) return void response.writeHead(state.refusal.status).end(state.refusal.body)
    void answer(request).then((body) => response.end(body))
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  return {
    url,
    state,
    sessions,
    close() {
      server.closeAllConnections()
      server.close()
    },
  }
}
