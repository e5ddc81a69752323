// People who sign in with the identity provider of their company have roles. Keys have scopes of their own.
import { scopes, type Scope } from './scopes.ts'

export const roles = ['viewer', 'editor', 'admin'] as const
export type Role = (typeof roles)[number]

/** The scopes of each role of an account; every role has those of the roles before it. */
export const roleScopes: Readonly<Record<Role, readonly Scope[]>> = {
  viewer: ['read'],
  editor: ['read', 'inference', 'training', 'data'],
  admin: scopes,
}

/** The scopes of each role are among those of the next. */
export const leastRoleWith = (scope: Scope): Role => roles.find((role) => roleScopes[role].includes(scope)) ?? 'admin'

/** The role that gives exactly these scopes. */
export const roleOf = (given: readonly Scope[]): Role | null =>
  roles.find(
    (role) => roleScopes[role].length === given.length && roleScopes[role].every((each) => given.includes(each)),
  ) ?? null

/** The members of a group get a role in an account, or are operators of the installation. */
export type RoleGrant = { group: string } & ({ account: string; role: Role } | { isOperator: true })

/** `account`: a name or an id, as the operator wrote it. */
export type GrantedRoles = { accounts: { account: string; role: Role }[]; isOperator: boolean }

/**
 * Reads lines such as `ml-team=research:editor`. `*:operator` names the operators. Empty lines and those that begin with # say
 * nothing.
 * @throws Error with the line that cannot be read
 */
export function readRoleGrants(lines: readonly string[]): RoleGrant[] {
  return lines.flatMap((given) => {
    const line = given.trim()
    return line === '' || line.startsWith('#') ? [] : [readGrant(line)]
  })
}

function readGrant(line: string): RoleGrant {
  // The name of a group may hold "=", as those of LDAP do, and the name of an account ":".
  const match = /^(.+)=([^=]+):([a-z]+)$/.exec(line)
  const [, group = '', account = '', role = ''] = match?.map((part) => part.trim()) ?? []
  const isRole = (name: string): name is Role => (roles as readonly string[]).includes(name)
  if (group !== '' && account === '*' && role === 'operator') return { group, isOperator: true }
  if (group !== '' && account !== '' && account !== '*' && isRole(role)) return { group, account, role }
  const forms = `group=account:role with a role of ${roles.join(', ')}, or group=*:operator`
  throw new Error(`"${line}" is not of the form ${forms}`)
}

/** The roles of somebody who is in these groups, the highest in each account, in the order of the grants. */
export function rolesOf(groups: readonly string[], grants: readonly RoleGrant[]): GrantedRoles {
  const mine = new Set(groups)
  const highest = new Map<string, Role>()
  let isOperator = false
  for (const grant of grants) {
    if (!mine.has(grant.group)) continue
    if ('isOperator' in grant) isOperator = true
    else if (rank(grant.role) > rank(highest.get(grant.account))) highest.set(grant.account, grant.role)
  }
  return { accounts: [...highest].map(([account, role]) => ({ account, role })), isOperator }
}

const rank = (role: Role | undefined) => (role === undefined ? -1 : roles.indexOf(role))
