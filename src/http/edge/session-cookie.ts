// The cookie of the console. Cookies are shared by all ports of a host, so its name holds the port: two services on one
// machine keep their sessions apart.
import type { IncomingHttpHeaders } from 'node:http'

/** The header in which the console's pages send the second secret of their session. */
const pageTokenHeader = 'x-console-token'

type Site = { headers: IncomingHttpHeaders; isSecure: boolean }

/** Browsers accept a `__Host-` cookie only over TLS, for all paths and without a domain. */
const cookieName = ({ headers, isSecure }: Site) => {
  const port = /:(\d{1,5})$/.exec(headers.host ?? '')?.[1]
  return `${isSecure ? '__Host-' : ''}anneal_session${port === undefined ? '' : `_${port}`}`
}

export function sessionCookie(site: Site, value: string, maxAgeSeconds: number): string {
  const attributes = ['Path=/', 'HttpOnly', 'SameSite=Strict', `Max-Age=${maxAgeSeconds}`]
  return [`${cookieName(site)}=${value}`, ...attributes, ...(site.isSecure ? ['Secure'] : [])].join('; ')
}

/**
 * The two secrets of a request from a page of the console. Undefined without the header, which no page of another origin can
 * send with cookies, and for requests that the browser says come from elsewhere.
 */
export function sessionSecrets(site: Site): { cookie: string; pageToken: string } | undefined {
  const { headers } = site
  const pageToken = headers[pageTokenHeader]
  const from = headers['sec-fetch-site']
  if (typeof pageToken !== 'string' || (from !== undefined && from !== 'same-origin')) return undefined
  const name = `${cookieName(site)}=`
  const cookie = headers.cookie?.split(/; */).find((pair) => pair.startsWith(name))
  return cookie === undefined ? undefined : { cookie: cookie.slice(name.length), pageToken }
}
