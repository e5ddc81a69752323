// The first account of an installation and its first key, for an operator who has the database and no key yet.
import { makeApiKey, parseApiKey } from '../../domain/identifiers.ts'
import { scopes } from '../../domain/scopes.ts'
import type { Account } from '../../repositories/accounts.ts'
import type { Database, Repositories } from '../../repositories/database.ts'
import { recordAudit } from '../audit/record.ts'

export type Bootstrapped = {
  account: Account
  isNewAccount: boolean
  /** The valid keys of this name that were there before, newest first. */
  earlierKeyIds: string[]
  /** Null where a key was there and no other was asked for. */
  made: { id: string; secret: string } | null
}

const mostKeysOfAccount = 1000

/**
 * Makes the account and the key unless they are there; with `newKey`, one more key. Of several callers at once only one makes
 * them. `keep` stores the secret before the key becomes valid: if it fails, nothing is made.
 */
export function bootstrapAccount({
  database,
  input: { accountName, keyName, newKey },
  keep,
}: {
  database: Database
  input: { accountName: string; keyName: string; newKey: boolean }
  keep: (made: { secret: string; accountId: string }) => Promise<void>
}): Promise<Bootstrapped> {
  return database.transaction(async (tx) => {
    const { account, isNew: isNewAccount } = await tx.accounts.named(accountName)
    await tx.accounts.hold(account.id)
    if (isNewAccount) await recordAudit(tx, byOperator(account), 'account.create', account.id)
    const earlierKeyIds = await liveKeys(tx, account, keyName)
    const made = earlierKeyIds.length === 0 || newKey ? await makeKey(tx, account, keyName) : null
    if (made) await keep({ secret: made.secret, accountId: account.id })
    return { account, isNewAccount, earlierKeyIds, made }
  })
}

async function liveKeys(tx: Repositories, { id }: Account, name: string): Promise<string[]> {
  const keys = (await tx.apiKeys.list(id, { after: null, limit: mostKeysOfAccount })) ?? []
  const now = new Date()
  return keys
    .filter((key) => key.name === name && !key.revokedAt && (!key.expiresAt || key.expiresAt > now))
    .map((key) => key.id)
}

async function makeKey(tx: Repositories, account: Account, name: string) {
  const secret = makeApiKey()
  const parsed = parseApiKey(secret)
  if (!parsed) throw new Error('makeApiKey made a key that parseApiKey does not read')
  const key = await tx.apiKeys.create({ ...parsed, accountId: account.id, name, scopes: [...scopes], expiresAt: null })
  await recordAudit(tx, byOperator(account), 'key.create', key.id)
  return { id: key.id, secret }
}

const byOperator = ({ id }: Account) => ({
  accountId: id,
  apiKeyId: 'operator',
  origin: { requestId: 'bootstrap', address: 'command line' },
})
