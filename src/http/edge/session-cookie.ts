// The cookie of the console. Cookies are shared by all ports of a host, so its name holds the port: two services on one
// machine keep their sessions apart.
import type { IncomingHttpHeaders } from 'node:http'

/** The header in which the console's pages send the second secret of their session. */
const pageTokenHeader = 'x-console-token'

export type Site = { headers: IncomingHttpHeaders; isSecure: boolean }

/** How long somebody may take to sign in with the identity provider. */
const loginSeconds = 600

/** Browsers accept a `__Host-` cookie only over TLS, for all paths and without a domain. */
const cookieName = ({ headers, isSecure }: Site, name: 'session' | 'login' = 'session') => {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1]
  return `${isSecure ? '__Host-' : ''}anneal_${name}${port === undefined ? '' : `_${port}`}`
}

export function sessionCookie(site: Site, value: string, maxAgeSeconds: number): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeSeconds}`]
  return [`${cookieName(site)}=${value}`, ...attributes, ...(site.isSecure ? ['Secure'] : [])].join('; ')
}

/**
 * What a browser has to bring back from the identity provider. The provider's page leads here, so the cookie must come along with
 * a link of another site. Null takes the cookie away.
 */
export function loginCookie(site: Site, value: string | null): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Lax', `Max-Age=${value === null ? 0 : loginSeconds}`]
  return [`${cookieName(site, 'login')}=${value ?? ''}`, ...attributes, ...(site.isSecure ? ['Secure'] : [])].join('; ')
}

export const loginCookieOf = (site: Site) => cookieOf(site, cookieName(site, 'login'))

const cookieOf = ({ headers }: Site, name: string): string | undefined =>
  headers.cookie
    ?.split(/; */)
    .find((pair) => pair.startsWith(`${name}=`))
    ?.slice(name.length + 1)

/**
 * The two secrets of a request from a page of the console. Undefined without the header, which no page of another origin can
 * send with cookies, and for requests that the browser says come from elsewhere.
 */
export function sessionSecrets(site: Site): { cookie: string; pageToken: string } | undefined {
  const { headers } = site
  const pageToken = headers[pageTokenHeader]
  const from = headers['sec-fetch-site']
  if (typeof pageToken !== 'string' || (from !== undefined && from !== 'same-origin')) return undefined
  const cookie = cookieOf(site, cookieName(site))
  return cookie === undefined ? undefined : { cookie, pageToken }
}
