// From the bearer key of a request to the caller: the key, its scope, its limits.
import { isIPv6 } from 'node:net'
import type { ApiKeyRecord } from '../../repositories/accounts.ts'
import { createAuthenticate, requireScope } from '../../services/authenticate.ts'
import type { Ctx, ServiceDependencies } from '../../services/context.ts'
import type { Call } from './framework.ts'

/**
 * `requireMore` may refuse a key that is valid. Such a key is never refused because of the address it comes from:
 * only a failure looks at that.
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
      // A request without any key guesses nothing.
      if (isRefusal(error) && authorization !== undefined)
        await deps.limits.countFailedAuthentication(networkOf(origin.address))
      throw error
    }
    const end = deps.limits.beginRequest(key.id)
    // Who left while the key was looked up has closed already.
    if (response.closed) end()
    else response.once('close', end)
    requireMore(key, call)
    return { deps, accountId: key.accountId, apiKeyId: key.id, origin }
  }
}

const requireRouteScope = (key: ApiKeyRecord, { route }: Call) => route.scope && requireScope(key, route.scope)

const isRefusal = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'invalid_token'

/** An IPv6 host has 2^64 addresses to choose from, so it is known by its network. */
function networkOf(address: string): string {
  const mapped = /^::ffff:(\d+\.\d+\.\d+\.\d+)$/i.exec(address)?.[1]
  if (mapped !== undefined) return mapped
  if (!isIPv6(address)) return address
  const [head = '', tail] = (address.split('%')[0] ?? '').split('::')
  const groups = (text: string) => (text === '' ? [] : text.split(':'))
  const before = groups(head)
  const after = tail === undefined ? [] : groups(tail)
  const zeros = Array<string>(Math.max(0, 8 - before.length - after.length)).fill('0')
  const network = [...before, ...zeros, ...after].slice(0, 4).map((group) => Number.parseInt(group, 16).toString(16))
  return `${network.join(':')}::/64`
}
