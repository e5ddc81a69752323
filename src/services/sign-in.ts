// Sign-in of people with the identity provider of their company: bearer tokens of the API and the command line, and the pages of
// the console.
import type { Person } from '../domain/person.ts'
import type { RoleGrant } from '../domain/roles.ts'
import type { Log } from '../log.ts'
import { groupsIn, readClaims } from '../sign-in/claims.ts'
import { createIssuer } from '../sign-in/issuer.ts'
import { createLogin } from '../sign-in/login.ts'
import { verifyPayload, verifyToken } from '../sign-in/verify-token.ts'
import type { Database } from '../repositories/database.ts'
import type { Origin, SignIn } from './context.ts'
import { createPeople } from './people.ts'

export type SignInSettings = {
  issuer: URL
  /** Tokens are taken that are meant for one of these. */
  audiences: string[]
  /** Null where the console does not sign people in. */
  clientId: string | null
  clientSecret: string | undefined
  /** Null where the command line does not sign people in. */
  cliClientId: string | null
  /** The console and the command line ask the provider for these, with spaces between. */
  scopes: string
  /** The claim with the groups of a person; with dots for a nested one. */
  groupsClaim: string
  grants: readonly RoleGrant[]
}

/** The functions throw ServiceError invalid_token; unavailable while the provider has never answered. */
export function createSignIn(settings: SignInSettings, { database, log }: { database: Database; log: Log }): SignIn {
  const issuer = createIssuer(settings, log)
  const people = createPeople(settings, database)
  const { clientId, groupsClaim, scopes } = settings

  /** The provider names itself, with or without a slash at the end. */
  const rules = async (audiences: string[]) => {
    const { issuer: name } = (await issuer.configuration()).serverMetadata()
    return { issuer: name, audiences, groupsClaim }
  }
  const claimsOf = async (token: string) => verifyToken(token, await rules(settings.audiences), issuer)

  return {
    async authenticate(token: string, account: string | undefined, origin: Origin) {
      return people.enter({ claims: await claimsOf(token), account, origin })
    },

    async operatorOf(token: string): Promise<Person | null> {
      const claims = await claimsOf(token)
      return people.rolesIn(claims).isOperator ? { subject: claims.subject, mail: claims.mail } : null
    },

    login:
      clientId === null
        ? null
        : {
            ...createLogin(issuer, { scopes, hasGroups: (claims) => groupsIn(claims, groupsClaim) !== undefined }),
            async enter({ idToken, asked, account, origin }) {
              const signed = await verifyPayload(idToken, await rules([clientId]), issuer)
              // A nested claim may hold other things in each of both.
              const groups = groupsIn(signed, groupsClaim) ?? groupsIn(asked, groupsClaim)
              const claims = readClaims({ ...asked, ...signed, [groupsClaim]: groups }, groupsClaim)
              const { accounts } = people.rolesIn(claims)
              // Nobody is asked before the first page; the page changes the account.
              const chosen = account ?? accounts[0]?.account
              return {
                key: await people.enter({ claims, account: chosen, origin }),
                name: claims.name,
                expiresAt: claims.expiresAt,
                account: chosen ?? '',
                accounts,
              }
            },
          },

    shown: {
      ...{ issuer: settings.issuer.href, clientId, cliClientId: settings.cliClientId },
      ...{ audience: settings.audiences[0] ?? '', scopes },
    },
  }
}
