// The two addresses that a browser visits to sign in with an identity provider: one sends it there, the other takes it back.
// They are pages, not routes of the API: they answer with redirects, or with a sentence for people.
import type { Express, Request, Response } from 'express'
import { STATUS_CODES } from 'node:http'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { signInPerson } from '../../services/console/sign-in.ts'
import type { ServiceDependencies } from '../../services/context.ts'
import { countIfRefused } from '../edge/key-caller.ts'
import { loginCookie, loginCookieOf, sessionCookie } from '../edge/session-cookie.ts'
import { describeError } from '../kit/problem.ts'
import { requestContext } from '../kit/request-context.ts'

const loginPath = '/v1/console/login'
const callbackPath = '/v1/console/callback'
/** Browsers keep cookies of 4,096 characters with the name and the attributes. */
const maxCookie = 3900

export function mountSignIn(app: Express, deps: ServiceDependencies) {
  app.get(loginPath, page(deps, loginPath, begin))
  app.get(callbackPath, page(deps, callbackPath, finish))
}

type Page = (deps: ServiceDependencies, request: Request, response: Response) => Promise<void>

const page =
  (deps: ServiceDependencies, route: string, serve: Page) => async (request: Request, response: Response) => {
    requestContext(response).route = route
    try {
      await serve(deps, request, response)
    } catch (error) {
      const origin = originOf(request, response)
      const failed = await countIfRefused(error, { deps, origin }).then(
        () => error,
        (limited: unknown) => limited,
      )
      const failure = describeError(failed, request)
      if (failure.isOurs) deps.log.error({ err: failed, requestId: origin.requestId }, 'a sign-in failed')
      for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
      sendSentence(response, failure.status, failure.detail)
    }
  }

async function begin(deps: ServiceDependencies, request: Request, response: Response) {
  const { login, site } = loginOf(deps, request)
  const { return_to: returnTo, account } = request.query
  // A page of somebody else would change the account in which this browser works.
  if (account !== undefined && isLinkOfOthers(request))
    throw invalidInput('account', 'account is chosen in the console: open it, and then "Keys and account".')
  const { address, cookie } = await login.begin({
    redirectUri: `${siteAddress(request)}${callbackPath}`,
    returnTo: pageOf(returnTo),
    account: typeof account === 'string' && account !== '' ? account : null,
  })
  // A browser would drop the cookie in silence.
  if (cookie.length > maxCookie) throw invalidInput('return_to', 'return_to and account are too long.')
  response.setHeader('Set-Cookie', loginCookie(site, cookie))
  response.redirect(302, address)
}

async function finish(deps: ServiceDependencies, request: Request, response: Response) {
  const { login, site } = loginOf(deps, request)
  // It serves once, also if the sign-in fails.
  response.setHeader('Set-Cookie', loginCookie(site, null))
  const query = request.originalUrl.slice(request.originalUrl.indexOf('?'))
  const { wish, ...told } = await login.finish(query, loginCookieOf(site))
  // Another port of this host can have set the cookie, so its page is checked again.
  const returnTo = pageOf(wish.returnTo)
  const origin = originOf(request, response)
  const person = await login.enter({ ...told, account: wish.account, origin })
  const session = await signInPerson({ ctx: { deps, origin }, input: person })
  const kept = {
    ...{ page_token: session.pageToken, key_id: session.apiKeyId, scopes: session.scopes },
    ...{ expires_at: wireTime(session.expiresAt), name: person.name },
    ...{ account: person.account, accounts: person.accounts },
  }
  response.setHeader('Set-Cookie', [
    loginCookie(site, null),
    sessionCookie(site, session.cookie, Math.ceil((session.expiresAt.getTime() - Date.now()) / 1000)),
  ])
  // Browsers send no server what follows the #, so the second secret is in no log.
  response.redirect(303, `${returnTo}#signed-in=${Buffer.from(JSON.stringify(kept)).toString('base64url')}`)
}

function loginOf({ signIn }: ServiceDependencies, request: Request) {
  const login = signIn?.login
  if (!login)
    throw new ServiceError(
      'not_found',
      'This service has no identity provider to sign in with. Sign in to the console with an API key.',
    )
  return { login, site: { headers: request.headers, isSecure: request.secure } }
}

const isLinkOfOthers = ({ headers }: Request) => ['cross-site', 'same-site'].includes(String(headers['sec-fetch-site']))

const siteAddress = (request: Request) => `${request.protocol}://${request.headers.host ?? ''}`

const originOf = (request: Request, response: Response) => ({
  requestId: requestContext(response).requestId,
  address: request.ip ?? '',
})

/** A page of the console. @throws ServiceError invalid_input for any other address: a foreign page could name its own */
function pageOf(returnTo: unknown): string {
  if (returnTo === undefined || returnTo === '') return '/console/'
  const base = 'http://console.invalid'
  if (typeof returnTo === 'string' && URL.canParse(returnTo, base)) {
    const { origin, pathname, search } = new URL(returnTo, base)
    if (origin === base && /^\/console(\/|$)/.test(pathname)) return pathname + search
  }
  throw invalidInput('return_to', 'return_to must be the path of a page of the console, such as /console/jobs.')
}

function sendSentence(response: Response, status: number, sentence: string) {
  const escaped = sentence.replaceAll('&', '&amp;').replaceAll('<', '&lt;')
  response
    .status(status)
    .type('html')
    .send(
      `<!doctype html><html lang="en"><meta charset="utf-8"><title>${STATUS_CODES[status] ?? ''}</title>` +
        `<h1>You are not signed in</h1><p>${escaped}</p><p><a href="/console/">To the console</a></p></html>`,
    )
}
