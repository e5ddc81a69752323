// Callers of the admin routes: the operator, with a token derived from ANNEAL_SECRET, for all accounts; a key with the scope
// admin, for its own account.
import { operatorToken, sameHash, sha256 } from '../domain/identifiers.ts'
import type { Call } from '../http/edge/create-app.ts'
import { createKeyCaller } from '../http/edge/key-caller.ts'
import { requireScope } from '../services/authenticate.ts'
import type { AdminCtx, ServiceDependencies } from '../services/context.ts'

export function createAdminCaller(deps: ServiceDependencies): (call: Call) => Promise<AdminCtx> {
  const keyCaller = createKeyCaller(deps, { requireMore: (key) => requireScope(key, 'admin') })
  const operatorHash = sha256(operatorToken(deps.settings.secret))
  return async (call) => {
    const token = /^bearer +(\S+)$/i.exec(call.request.headers.authorization ?? '')?.[1]
    const isOperator = token !== undefined && sameHash(sha256(token), operatorHash)
    return isOperator ? { deps, accountId: null, apiKeyId: 'operator', origin: call.origin } : keyCaller(call)
  }
}
