// The operator manages all accounts; a key with the scope admin sees its own account only.
import type { Priority } from '../../domain/priority.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { Account } from '../../repositories/accounts.ts'
import { recordAudit } from '../audit/record.ts'
import type { AdminCtx } from '../context.ts'

const accountNotFound = (id: string) => new ServiceError('not_found', `There is no account ${id}.`)

/** @throws ServiceError invalid_token */
export function requireOperator({ accountId }: AdminCtx) {
  if (accountId !== null)
    throw new ServiceError('invalid_token', 'invalid token: this needs the operator token, not the key of an account.')
}

/** @throws ServiceError not_found, for another account's id too */
export async function findAccount({ deps, accountId }: AdminCtx, id: string): Promise<Account> {
  const account = accountId === null || accountId === id ? await deps.database.accounts.find(id) : null
  if (!account) throw accountNotFound(id)
  return account
}

/** @throws ServiceError invalid_token */
export async function createAccount({
  admin,
  input,
}: {
  admin: AdminCtx
  input: { name: string; priority: Priority }
}) {
  requireOperator(admin)
  return admin.deps.database.transaction(async (tx) => {
    const account = await tx.accounts.create(input.name, input.priority)
    await recordAudit(tx, { ...admin, accountId: account.id }, 'account.create', account.id)
    return account
  })
}

/** Applies to later launches. @throws ServiceError invalid_token, not_found */
export async function setAccountPriority({
  admin,
  input: { id, priority },
}: {
  admin: AdminCtx
  input: { id: string; priority: Priority }
}): Promise<Account> {
  requireOperator(admin)
  await findAccount(admin, id)
  return admin.deps.database.transaction(async (tx) => {
    await recordAudit(tx, { ...admin, accountId: id }, 'account.priority', id)
    return tx.accounts.setPriority(id, priority)
  })
}

/** Lists accounts, newest first. @throws ServiceError not_found for an unknown cursor */
export async function listAccounts({
  admin,
  input: { after, limit },
}: {
  admin: AdminCtx
  input: { after: string | null; limit: number }
}): Promise<{ accounts: Account[]; next: string | null }> {
  const { accounts: repository } = admin.deps.database
  if (admin.accountId !== null) return { accounts: [await findAccount(admin, admin.accountId)], next: null }
  if (after !== null) await findAccount(admin, after)
  const accounts = await repository.list({ after, limit })
  return { accounts, next: accounts.length === limit ? (accounts.at(-1)?.id ?? null) : null }
}
