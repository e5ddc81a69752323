import helmet from 'helmet'
import { IncomingMessage, ServerResponse } from 'node:http'
import { Socket } from 'node:net'

/** helmet's headers for an API that serves no page. They never change, so helmet runs once. */
export function securityHeaders(): Map<string, string> {
  const request = new IncomingMessage(new Socket())
  const response = new ServerResponse(request)
  helmet({
    contentSecurityPolicy: { useDefaults: false, directives: { defaultSrc: ["'none'"], frameAncestors: ["'none'"] } },
    // Whether there is TLS is for the proxy in front to say.
    strictTransportSecurity: false,
  })(request, response, () => undefined)
  const headers = new Map(Object.entries(response.getHeaders()).map(([name, value]) => [name, String(value)]))
  return headers.set('cache-control', 'no-store')
}
