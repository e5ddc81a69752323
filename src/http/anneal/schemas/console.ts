import { z } from 'zod'
import { roles } from '../../../domain/roles.ts'
import { scopes } from '../../../domain/scopes.ts'
import { named } from '../../kit/named-schemas.ts'
import { Person } from './person.ts'
import { Time } from '../../lamini/schemas/training-job.ts'

const session = {
  key_id: z.string().describe('The id of the key that the session acts for'),
  scopes: z.array(z.enum(scopes)).describe('What the key may do'),
}

export const ConsoleSession = named(
  'ConsoleSession',
  z.object({
    ...session,
    session_id: z
      .string()
      .describe('The id of the session, also in the audit trail')
      .nullable()
      .describe('Null when the caller sent a key instead of a session'),
    key_name: z.string().describe('The name of that key; of a person, the name of the person'),
    role: z.enum(roles).nullable().describe('The role of a person in the account; null for a key of a program'),
    expires_at: Time.nullable().describe(
      'When the key or the session ends; null for never, and for the token of a person, which ends as the identity provider says',
    ),
    keys_end_at: Time.nullable().describe('When keys that the caller makes end at the latest; null for never'),
    account_id: z.string().describe('The id of the account of the caller'),
    account_name: z.string().describe('The name of that account'),
    person: Person.nullable().describe('Who has signed in; null for a key of a program'),
  }),
)

export const ConsoleSignedIn = named(
  'ConsoleSignedIn',
  z.object({
    ...session,
    session_id: z.string().describe('The id of the session'),
    expires_at: Time,
    page_token: z
      .string()
      .describe('Send it as X-Console-Token with each request. The cookie of the session counts only together with it'),
  }),
)

export const ConsoleLink = named(
  'ConsoleLink',
  z.object({
    path: z.string().describe('Open it in a browser, at the address of this service; works once'),
    expires_at: Time,
  }),
)

export const ConsoleLinkOpening = named(
  'ConsoleLinkOpening',
  z.object({ link: z.string().min(1).max(200).describe('What follows the # in the path of the link') }),
)

export const ConsoleLinkShown = named(
  'ConsoleLinkShown',
  z.object({
    account_id: z.string().describe('The id of the account that the link signs in to'),
    account_name: z.string().describe('The name of that account'),
    ...session,
    key_name: z.string().describe('The name of that key'),
    expires_at: Time.describe('Until then the link opens a session, once'),
  }),
)

export const ConsoleSignedOut = named(
  'ConsoleSignedOut',
  z.object({
    signed_out: z.literal(true).describe('Always true: the session has ended'),
    provider_url: z
      .string()
      .nullable()
      .describe('Where a person signs out of the identity provider as well; null for a key, or without such a page'),
  }),
)

export const SignInAnswer = named(
  'SignIn',
  z.object({
    provider: z
      .object({
        issuer: z.string().describe('The address of the provider, for OpenID Connect Discovery'),
        client_id: z
          .string()
          .nullable()
          .describe('As which the console is known there; null where people cannot sign in to it'),
        cli_client_id: z
          .string()
          .nullable()
          .describe('As which the command line is known there, without a secret; null where it signs nobody in'),
        audience: z.string().describe('For what a bearer token must be meant'),
        scopes: z.string().describe('The scopes to ask the provider for, with spaces between'),
      })
      .nullable()
      .describe('Null where people have API keys only'),
  }),
)
