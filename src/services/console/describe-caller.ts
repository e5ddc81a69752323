import { roleOf, type Role } from '../../domain/roles.ts'
import type { Scope } from '../../domain/scopes.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { latestEndOf } from '../admin/key-end.ts'
import { scopesOf } from '../authenticate.ts'
import type { Ctx } from '../context.ts'

/**
 * `role`: of a person, null for a key of a program. `expiresAt`: when the key or the session ends. The token of a person ends
 * by itself, which only its provider and its holder know.
 */
export type Caller = {
  accountName: string
  keyName: string
  scopes: Scope[]
  role: Role | null
  expiresAt: Date | null
  keysEndAt: Date | null
}

/** @throws ServiceError invalid_token for a key or a session that has ended */
export async function describeCaller({ ctx }: { ctx: Ctx }): Promise<Caller> {
  const { accounts, apiKeys, consoleSessions } = ctx.deps.database
  const [scopes, account, key, sessionEnd, keysEndAt] = await Promise.all([
    scopesOf(ctx),
    accounts.find(ctx.accountId),
    apiKeys.find(ctx.accountId, ctx.apiKeyId),
    ctx.sessionId === undefined ? null : consoleSessions.endOf(ctx.sessionId),
    latestEndOf(ctx, ctx.deps.database),
  ])
  if (!account || !key) throw new ServiceError('invalid_token', 'invalid token: the key was revoked.')
  const ends = [key.expiresAt, sessionEnd].filter((end) => end !== null)
  return {
    ...{ accountName: account.name, keyName: key.name, scopes, keysEndAt },
    role: ctx.person ? roleOf(scopes) : null,
    expiresAt: ends.toSorted((a, b) => a.getTime() - b.getTime())[0] ?? null,
  }
}
