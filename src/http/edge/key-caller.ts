// Finds the account of a request's bearer key, of the console session that acts for a key, or of the person whom a token of the
// identity provider names, and checks the scope and the limits.
import { bearerOf } from '../../domain/bearer.ts'
import type { IncomingHttpHeaders } from 'node:http'
import ipaddr from 'ipaddr.js'
import { invalidInput } from '../../domain/service-error.ts'
import type { ApiKeyRecord } from '../../repositories/accounts.ts'
import { createAuthenticate, requireScope } from '../../services/authenticate.ts'
import { createAuthenticateSession } from '../../services/console/authenticate-session.ts'
import type { Ctx, OpenCtx, ServiceDependencies } from '../../services/context.ts'
import type { Call } from './create-app.ts'
import { sessionSecrets } from './session-cookie.ts'

/** In which of several accounts a person acts. */
const accountHeader = 'x-anneal-account'

type Shown = { key: ApiKeyRecord; sessionId?: string }

type Options = {
  /** May refuse a valid key. */
  requireMore?: (key: ApiKeyRecord, call: Call) => void
  /** Whether sessions of the console are accepted in place of a key. */
  allowsSessions?: boolean
}

/** A valid key is never refused because of its address: only failed authentications count against an address. */
export function createKeyCaller(
  deps: ServiceDependencies,
  { requireMore = requireRouteScope, allowsSessions = false }: Options = {},
): (call: Call) => Promise<Ctx> {
  const authenticate = createAuthenticate(deps)
  const authenticateSession = createAuthenticateSession(deps)

  async function show({ request, origin }: Call): Promise<Shown> {
    const { headers } = request
    const { authorization } = headers
    const secrets =
      allowsSessions && authorization === undefined ? sessionSecrets({ headers, isSecure: request.secure }) : undefined
    const token = tokenOf(authorization)
    const account = accountOf(headers)
    try {
      if (token !== undefined && deps.signIn) return { key: await deps.signIn.authenticate(token, account, origin) }
      const shown = secrets ? await authenticateSession(secrets) : { key: await authenticate(authorization) }
      if (account !== undefined && account !== shown.key.accountId) throw notOfKey()
      return shown
    } catch (error) {
      // A request without a key is no attempt to guess one.
      if (authorization !== undefined || secrets) await countIfRefused(error, { deps, origin })
      throw error
    }
  }

  return async (call) => {
    const { key, sessionId } = await show(call)
    const end = deps.limits.beginRequest(key.id)
    // A client may have left while the key was looked up.
    if (call.response.closed) end()
    else call.response.once('close', end)
    requireMore(key, call)
    deps.activity.note(key.accountId)
    return {
      ...{ deps, accountId: key.accountId, apiKeyId: key.id, origin: call.origin },
      ...(sessionId !== undefined && { sessionId }),
      ...(key.person && { person: key.person }),
      ...(key.scopes.includes('admin') && { isAdmin: true }),
    }
  }
}

/** A bearer that has the form of a signed JWT, as no API key has. */
export const tokenOf = (authorization: string | undefined) => /^ey[^.]*\..*$/i.exec(bearerOf(authorization) ?? '')?.[0]

const accountOf = ({ [accountHeader]: account }: IncomingHttpHeaders) =>
  typeof account === 'string' && account !== '' ? account : undefined

const notOfKey = () =>
  invalidInput(
    'X-Anneal-Account',
    'X-Anneal-Account must be the id of the account of the key, or absent. It chooses among the accounts of a person.',
  )

const requireRouteScope = (key: ApiKeyRecord, { route }: Call) => route.scope && requireScope(key, route.scope)

/** Counts a wrong secret against the address that sent it. @throws ServiceError rate_limited */
export async function countIfRefused(error: unknown, { deps, origin }: OpenCtx) {
  if (isInvalidToken(error)) await deps.limits.countFailedAuthentication(networkOf(origin.address))
}

const isInvalidToken = (error: unknown) => error instanceof Error && 'code' in error && error.code === 'invalid_token'

/** A client can use any of the 2^64 addresses of its IPv6 network, so count the network. */
function networkOf(text: string): string {
  if (!ipaddr.isValid(text)) return text
  const address = ipaddr.process(text)
  if (address.kind() === 'ipv4') return address.toString()
  return `${ipaddr.IPv6.networkAddressFromCIDR(`${address.toString()}/64`).toString()}/64`
}
