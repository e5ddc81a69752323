// Callers of the admin routes: the operator, with a token derived from ANNEAL_SECRET or as a person whose groups give this role,
// for all accounts; a key with the scope admin, or an admin of an account, for this account.
import { bearerOf } from '../domain/bearer.ts'
import { operatorToken, sameHash, sha256 } from '../domain/identifiers.ts'
import type { Call } from '../http/edge/create-app.ts'
import { countIfRefused, createKeyCaller, tokenOf } from '../http/edge/key-caller.ts'
import { requireScope } from '../services/authenticate.ts'
import type { AdminCtx, ServiceDependencies } from '../services/context.ts'

export function createAdminCaller(deps: ServiceDependencies): (call: Call) => Promise<AdminCtx> {
  const keyCaller = createKeyCaller(deps, { requireMore: (key) => requireScope(key, 'admin') })
  const operatorHash = sha256(operatorToken(deps.settings.secret))
  return async (call) => {
    const { origin, request } = call
    const { authorization } = request.headers
    const operator: AdminCtx = { deps, accountId: null, apiKeyId: 'operator', origin }
    const token = bearerOf(authorization)
    if (token !== undefined && sameHash(sha256(token), operatorHash)) return operator
    const signed = tokenOf(authorization)
    if (signed === undefined || !deps.signIn) return keyCaller(call)
    try {
      const person = await deps.signIn.operatorOf(signed)
      if (person) return { ...operator, person }
    } catch (error) {
      await countIfRefused(error, { deps, origin })
      throw error
    }
    return keyCaller(call)
  }
}
