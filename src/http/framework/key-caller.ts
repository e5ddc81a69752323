// Finds the account of a request's bearer key, and checks the key's scope and limits.
import ipaddr from 'ipaddr.js'
import type { ApiKeyRecord } from '../../repositories/accounts.ts'
import { createAuthenticate, requireScope } from '../../services/authenticate.ts'
import type { Ctx, ServiceDependencies } from '../../services/context.ts'
import type { Call } from './create-app.ts'

/**
 * `requireMore` may refuse a valid key. A valid key is never refused because of its address: only failed authentications
 * count against an address.
 */
export function createKeyCaller(
  deps: ServiceDependencies,
  requireMore: (key: ApiKeyRecord, call: Call) => void = requireRouteScope,
): (call: Call) => Promise<Ctx> {
  const authenticate = createAuthenticate(deps)
  return async (call) => {
    const { request, response, origin } = call
    const { authorization } = request.headers
    let key: ApiKeyRecord
    try {
      key = await authenticate(authorization)
    } catch (error) {
      // A request without a key is no attempt to guess one.
      if (isInvalidToken(error) && authorization !== undefined)
        await deps.limits.countFailedAuthentication(networkOf(origin.address))
      throw error
    }
    const end = deps.limits.beginRequest(key.id)
    // A client may have left while the key was looked up.
    if (response.closed) end()
    else response.once('close', end)
    requireMore(key, call)
    return { deps, accountId: key.accountId, apiKeyId: key.id, origin }
  }
}

const requireRouteScope = (key: ApiKeyRecord, { route }: Call) => route.scope && requireScope(key, route.scope)

const isInvalidToken = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'invalid_token'

/** A client can use any of the 2^64 addresses of its IPv6 network, so count the network. */
function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return address.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()}/64`
}
