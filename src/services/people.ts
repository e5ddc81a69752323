// People who sign in with the identity provider. In an account somebody stands as a key without a secret, so that limits, usage,
// jobs and the audit trail know people as they know keys; the scopes are those of the role that the groups give.
import { randomBytes } from 'node:crypto'
import { isUuid, sha256, sha256Hex } from '../domain/identifiers.ts'
import type { Person } from '../domain/person.ts'
import { roleScopes, rolesOf, type GrantedRoles, type Role, type RoleGrant } from '../domain/roles.ts'
import { invalidInput, ServiceError } from '../domain/service-error.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import type { Database } from '../repositories/database.ts'
import { invalidToken } from '../sign-in/invalid-token.ts'
import type { Claims } from '../sign-in/claims.ts'
import { recordAudit } from './audit/record.ts'
import type { Origin } from './context.ts'
import { createTtlCache } from './ttl-cache.ts'

/** The account that a person has chosen, by its name or id, as the operator's grants write it; undefined for the only one. */
type Entering = { claims: Claims; account: string | undefined; origin: Origin }

export function createPeople({ grants }: { grants: readonly RoleGrant[] }, database: Database) {
  const accountIds = createTtlCache<string | null>()
  const keys = createTtlCache<ApiKeyRecord | null>()

  /** @throws ServiceError invalid_token if no group of the person has a role */
  function rolesIn({ groups }: Pick<Claims, 'groups'>): GrantedRoles {
    const granted = rolesOf(groups, grants)
    if (granted.accounts.length > 0 || granted.isOperator) return granted
    throw invalidToken(
      `none of its ${groups.length} groups has a role here: the operator names groups in ANNEAL_OIDC_ROLES`,
    )
  }

  /**
   * The key that stands for the person in an account, with the scopes of the role there.
   * @throws ServiceError invalid_token; invalid_input for an account that is not chosen among several
   */
  async function enter({ claims, account, origin }: Entering): Promise<ApiKeyRecord> {
    const chosen = chooseAccount(rolesIn(claims), account)
    const accountId = await accountIds.get(chosen.account, () =>
      idOf(chosen.account, database, { origin, person: personOf(claims) }),
    )
    if (accountId === null)
      throw invalidToken(`the account ${chosen.account}, which ANNEAL_OIDC_ROLES names, does not exist`)
    const id = keyId(accountId, claims)
    const key = await keys.get(`${id} ${claims.issuedAt.getTime()}`, () =>
      keyOf({ id, accountId, claims, role: chosen.role, origin }, database),
    )
    if (!key) throw invalidToken('an admin of the account has ended this sign-in. Sign in again')
    return { ...key, scopes: [...roleScopes[chosen.role]] }
  }

  return { rolesIn, enter }
}

function chooseAccount({ accounts }: GrantedRoles, wanted: string | undefined): { account: string; role: Role } {
  const names = accounts.map(({ account }) => account)
  const [only, ...others] = accounts
  if (!only) throw invalidToken('its groups give a role of operators alone, which opens no account')
  if (wanted === undefined && others.length === 0) return only
  const found = accounts.find(({ account }) => account === wanted)
  if (found) return found
  throw invalidInput(
    'X-Anneal-Account',
    wanted === undefined
      ? `X-Anneal-Account is missing: you have several accounts. Send one of ${names.join(', ')}.`
      : `X-Anneal-Account must name one of your accounts: ${names.join(', ')}.`,
  )
}

/** Null for an id of no account. An account that is named is made when somebody first enters. */
async function idOf(
  account: string,
  database: Database,
  first: { origin: Origin; person: Person },
): Promise<string | null> {
  if (isUuid(account)) return (await database.accounts.find(account))?.id ?? null
  return database.transaction(async (tx) => {
    const { account: found, isNew } = await tx.accounts.named(account)
    const by = { accountId: found.id, apiKeyId: 'operator', ...first }
    if (isNew) await recordAudit(tx, by, 'account.create', found.id)
    return found.id
  })
}

/** The same for every token of the person, and one that no key of a program has. */
const keyId = (accountId: string, { issuer, subject }: Claims) =>
  sha256Hex(JSON.stringify([accountId, issuer, subject])).slice(0, 16)

const personOf = ({ subject, mail }: Claims): Person => ({ subject, mail })

type Keeping = { id: string; accountId: string; claims: Claims; role: Role; origin: Origin }

/** Null if the key was revoked after the token was issued, also if a newer token has revived the key since. */
async function keyOf(
  { id, accountId, claims, role, origin }: Keeping,
  database: Database,
): Promise<ApiKeyRecord | null> {
  const person = personOf(claims)
  const { name, issuedAt: claimsAt } = claims
  // Nobody knows a secret with this hash.
  const secretHash = sha256(randomBytes(32))
  const entry = { id, accountId, name, scopes: [...roleScopes[role]], person, claimsAt, secretHash }
  await database.transaction(async (tx) => {
    if (await tx.apiKeys.enter(entry))
      await recordAudit(tx, { accountId, apiKeyId: id, origin, person }, 'person.enter', id)
  })
  const key = await database.accounts.findLiveApiKey(id, claimsAt)
  if (key && key.accountId !== accountId) throw new ServiceError('conflict', `The key ${id} is of another account.`)
  return key
}
