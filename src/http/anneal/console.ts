// Sessions of the console: an API key, or a link that was made with one, is exchanged for a cookie.
import { wireTime } from '../../domain/timestamps.ts'
import { describeCaller } from '../../services/console/describe-caller.ts'
import {
  createSignInLink,
  sessionSeconds,
  showSignInLink,
  signIn,
  signInByLink,
  signOut,
  type SignedIn,
} from '../../services/console/sign-in.ts'
import type { Ctx, OpenCtx } from '../../services/context.ts'
import { countIfRefused } from '../edge/key-caller.ts'
import { defineRoute } from '../kit/route.ts'
import { sessionCookie, type Site } from '../edge/session-cookie.ts'
import { shownPerson } from './audit.ts'
import {
  ConsoleLink,
  ConsoleLinkOpening,
  ConsoleLinkShown,
  ConsoleSession,
  ConsoleSignedIn,
  ConsoleSignedOut,
  SignInAnswer,
} from './schemas/console.ts'

export const consoleRoutes = [
  defineRoute({
    name: 'get_sign_in',
    method: 'get',
    path: '/v1/sign-in',
    summary: 'Get the identity provider with which people sign in',
    access: 'none',
    response: SignInAnswer,
    handle: ({ caller: { deps } }) => {
      const shown = deps.signIn?.shown
      return {
        provider: shown
          ? {
              ...{ issuer: shown.issuer, client_id: shown.clientId, cli_client_id: shown.cliClientId },
              ...{ audience: shown.audience, scopes: shown.scopes },
            }
          : null,
      }
    },
  }),
  defineRoute({
    name: 'sign_in_to_console',
    method: 'post',
    path: '/v1/console/session',
    summary: 'Open a session of the console with an API key. The cookie is HttpOnly and lasts 12 hours',
    access: 'key',
    scope: 'read',
    response: ConsoleSignedIn,
    async handle({ caller: ctx, setHeader, ...site }) {
      const session = await signIn({ ctx })
      setHeader('Set-Cookie', sessionCookie(site, session.cookie, sessionSeconds))
      return signedIn(session)
    },
  }),
  defineRoute({
    name: 'get_console_session',
    method: 'get',
    path: '/v1/console/session',
    summary: 'Get who the caller is: the account, the key or the person, scopes and role',
    access: 'key',
    scope: undefined,
    response: ConsoleSession,
    async handle({ caller: ctx }) {
      const { accountName, keyName, scopes, role, expiresAt, keysEndAt } = await describeCaller({ ctx })
      return {
        session_id: ctx.sessionId ?? null,
        key_id: ctx.apiKeyId,
        key_name: keyName,
        scopes,
        role,
        expires_at: expiresAt && wireTime(expiresAt),
        keys_end_at: keysEndAt && wireTime(keysEndAt),
        account_id: ctx.accountId,
        account_name: accountName,
        person: shownPerson(ctx.person ?? null),
      }
    },
  }),
  defineRoute({
    name: 'sign_out_of_console',
    method: 'delete',
    path: '/v1/console/session',
    summary: 'End the session of the caller. A repeat changes nothing',
    access: 'key',
    scope: 'read',
    response: ConsoleSignedOut,
    async handle({ caller: ctx, setHeader, ...site }) {
      await signOut({ ctx })
      setHeader('Set-Cookie', sessionCookie(site, '', 0))
      return { signed_out: true as const, provider_url: await providerSignOut(ctx, site) }
    },
  }),
  defineRoute({
    name: 'create_console_link',
    method: 'post',
    path: '/v1/console/links',
    summary: 'Make a link that opens the console signed in, once, within a minute',
    access: 'key',
    scope: 'read',
    response: ConsoleLink,
    async handle({ caller: ctx }) {
      const { link, expiresAt } = await createSignInLink({ ctx })
      // Browsers send no server what follows the #, so the link is in no log.
      return { path: `/console/open#${link}`, expires_at: wireTime(expiresAt) }
    },
  }),
  defineRoute({
    name: 'show_console_link',
    method: 'post',
    path: '/v1/console/links/show',
    summary: 'Get the account and the key that a link signs in to, before it opens a session',
    access: 'none',
    body: ConsoleLinkOpening,
    errorStatuses: [401, 429],
    response: ConsoleLinkShown,
    async handle({ caller: ctx, body }) {
      const shown = await counted(ctx, showSignInLink({ ctx, input: body }))
      return {
        account_id: shown.accountId,
        account_name: shown.accountName,
        key_id: shown.apiKeyId,
        key_name: shown.keyName,
        scopes: shown.scopes,
        expires_at: wireTime(shown.expiresAt),
      }
    },
  }),
  defineRoute({
    name: 'open_console_link',
    method: 'post',
    path: '/v1/console/links/open',
    summary: 'Open a session of the console with a link',
    access: 'none',
    body: ConsoleLinkOpening,
    errorStatuses: [401, 429],
    response: ConsoleSignedIn,
    async handle({ caller: ctx, body, setHeader, ...site }) {
      const session = await counted(ctx, signInByLink({ ctx, input: body }))
      setHeader('Set-Cookie', sessionCookie(site, session.cookie, sessionSeconds))
      return signedIn(session)
    },
  }),
]

/** Null for a key, and while the provider is away: the session here has ended all the same. */
async function providerSignOut({ deps: { signIn }, person }: Ctx, { headers, isSecure }: Site): Promise<string | null> {
  if (!person || !signIn?.login) return null
  const returnTo = `${isSecure ? 'https' : 'http'}://${headers.host ?? ''}/console/`
  return signIn.login.signOutAddress(returnTo).catch(() => null)
}

/** A wrong link counts as a failed authentication of its sender. */
const counted = <T>(ctx: OpenCtx, trying: Promise<T>): Promise<T> =>
  trying.catch(async (error: unknown) => {
    await countIfRefused(error, ctx)
    throw error
  })

const signedIn = ({ sessionId, pageToken, expiresAt, apiKeyId, scopes }: SignedIn) => ({
  session_id: sessionId,
  key_id: apiKeyId,
  scopes,
  expires_at: wireTime(expiresAt),
  page_token: pageToken,
})
