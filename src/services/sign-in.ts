// Sign-in of people with the identity provider of their company: bearer tokens of the API and the command line.
import type { Person } from '../domain/person.ts'
import type { RoleGrant } from '../domain/roles.ts'
import type { Log } from '../log.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import { createIssuer } from '../sign-in/issuer.ts'
import { verifyToken } from '../sign-in/verify-token.ts'
import type { OpenCtx } from './context.ts'
import { createPeople } from './people.ts'

export type SignInSettings = {
  issuer: URL
  /** Tokens are taken that are meant for one of these. */
  audiences: string[]
  /** Null where the console does not sign people in. */
  clientId: string | null
  clientSecret: string | undefined
  /** The claim with the groups of a person; with dots for a nested one. */
  groupsClaim: string
  grants: readonly RoleGrant[]
}

export type SignIn = ReturnType<typeof createSignIn>

/** The functions throw ServiceError invalid_token; unavailable while the provider has never answered. */
export function createSignIn(settings: SignInSettings, log: Log) {
  const issuer = createIssuer(settings, log)
  const people = createPeople(settings)

  async function claimsOf(token: string) {
    // The provider names itself, with or without a slash at the end.
    const { issuer: name } = (await issuer.configuration()).serverMetadata()
    return verifyToken(token, { ...settings, issuer: name }, issuer)
  }

  return {
    /** `account`: the one that the person has chosen. Throws invalid_input, too, if there are several and none is chosen. */
    async authenticate(token: string, account: string | undefined, ctx: OpenCtx): Promise<ApiKeyRecord> {
      return people.enter({ claims: await claimsOf(token), account, ctx })
    },

    /** Null for somebody who is no operator. */
    async operatorOf(token: string): Promise<Person | null> {
      const claims = await claimsOf(token)
      return people.rolesIn(claims).isOperator ? { subject: claims.subject, mail: claims.mail } : null
    },
  }
}
