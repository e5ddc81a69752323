// Signs a person in with the identity provider of a service: by a browser on this machine, which comes back to an address of the
// loopback interface (RFC 8252), or by a code that is typed in on another device (RFC 8628).
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { CommandError } from '../command-error.ts'
import { clientConfig } from './client-config.ts'
import { reasonOf, type Granted, type openProvider } from './identity-provider.ts'

const timeoutMs = 10 * 60_000
const callbackPath = '/callback'

type Opened = Awaited<ReturnType<typeof openProvider>>

/** A refresh token is asked for with the scope of OpenID Connect Core, section 11, which some providers do not know. */
export function scopesOf({ known }: Opened, scopes: string): string {
  const knows = known.serverMetadata().scopes_supported?.includes('offline_access') ?? false
  return knows && !scopes.split(' ').includes('offline_access') ? `${scopes} offline_access` : scopes
}

/** @throws CommandError when the provider refuses, or nobody comes back */
export async function signInByBrowser(opened: Opened, scope: string): Promise<Granted> {
  const { sdk, known } = opened
  const server = createServer().listen(0, '127.0.0.1')
  await once(server, 'listening')
  const redirectUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}${callbackPath}`
  const [state, nonce, codeVerifier] = [sdk.randomState(), sdk.randomNonce(), sdk.randomPKCECodeVerifier()]
  const address = sdk.buildAuthorizationUrl(known, {
    ...{ redirect_uri: redirectUri, scope, state, nonce },
    ...{ code_challenge: await sdk.calculatePKCECodeChallenge(codeVerifier), code_challenge_method: 'S256' },
    ...(scope.includes('offline_access') && { prompt: 'consent' }),
  })
  const exchange = (url: URL) =>
    sdk.authorizationCodeGrant(known, url, {
      ...{ pkceCodeVerifier: codeVerifier, expectedState: state, expectedNonce: nonce, idTokenExpected: true },
    })
  try {
    const back = comeBack({ server, redirectUri, state, exchange })
    console.error(`Sign in with your browser. If it does not open by itself, open:\n\n  ${address.href}\n`)
    openBrowser(address)
    return await back
  } finally {
    server.close()
    server.closeAllConnections()
  }
}

type Waiting = {
  server: ReturnType<typeof createServer>
  redirectUri: string
  state: string
  exchange: (url: URL) => Promise<Granted>
}

function comeBack({ server, redirectUri, state, exchange }: Waiting): Promise<Granted> {
  return new Promise((resolve, reject) => {
    const late = setTimeout(() => reject(new CommandError('Nobody signed in within ten minutes.')), timeoutMs)
    let isTaken = false
    server.on('request', (request, response) => void answer(request, response))
    server.once('close', () => clearTimeout(late))

    async function answer({ method, url = '' }: IncomingMessage, response: ServerResponse) {
      const address = new URL(url, redirectUri)
      if (method !== 'GET' || address.pathname !== callbackPath)
        return sendPage(response, 404, 'There is no such page.')
      // Any page can send a browser here, and must not end the sign-in.
      if (address.searchParams.get('state') !== state || isTaken)
        return sendPage(response, 400, 'This is not the sign-in that the command line waits for.')
      isTaken = true
      try {
        const granted = await exchange(new URL(redirectUri + address.search))
        await sendPage(response, 200, 'You are signed in. You may close this window.')
        resolve(granted)
      } catch (error) {
        await sendPage(response, 400, 'You are not signed in. The command line says why.')
        reject(refused(error))
      }
    }
  })
}

async function sendPage(response: ServerResponse, status: number, sentence: string) {
  const headers = { 'Content-Type': 'text/html; charset=utf-8', 'Content-Security-Policy': "default-src 'none'" }
  response.writeHead(status, { ...headers, 'Cache-Control': 'no-store', Connection: 'close' })
  response.end(`<!doctype html><html lang="en"><title>Anneal</title><p>${sentence}</p></html>`)
  await once(response, 'close')
}

/** The command never fails for it: the address was printed. */
function openBrowser({ href, protocol }: URL) {
  if (protocol !== 'https:' && protocol !== 'http:') return
  const { browser } = clientConfig()
  if (browser === null) return
  const [program = '', ...args] = browser
  const child = spawn(program, [...args, href], { stdio: 'ignore', detached: true })
  child.on('error', () => undefined)
  child.unref()
}

/** @throws CommandError when the provider refuses or knows no codes, or nobody signs in */
export async function signInByCode({ sdk, known }: Opened, scope: string): Promise<Granted> {
  if (known.serverMetadata().device_authorization_endpoint === undefined)
    throw new CommandError(
      'The identity provider does not sign in by a code. Run the command on a machine with a browser, without --device.',
    )
  try {
    const asked = await sdk.initiateDeviceAuthorization(known, { scope })
    console.error(`Open this address on any device:\n\n  ${shown(asked.verification_uri)}\n`)
    console.error(`and type in the code  ${shown(asked.user_code)}`)
    return await sdk.pollDeviceAuthorizationGrant(known, asked, undefined, { signal: AbortSignal.timeout(timeoutMs) })
  } catch (error) {
    throw refused(error)
  }
}

/** Without what a terminal would act on. */
const shown = (text: string) => text.replaceAll(/[\p{Cc}\p{Cf}]/gu, '')

const refused = (error: unknown) =>
  new CommandError(`The identity provider has not confirmed the sign-in (${reasonOf(error)}). Sign in again.`)
