// Sessions of the console: an API key, or a link that was made with one, is exchanged for a cookie.
import { wireTime } from '../../domain/timestamps.ts'
import { latestEndOf } from '../../services/admin/key-end.ts'
import { scopesOf } from '../../services/authenticate.ts'
import {
  createSignInLink,
  sessionSeconds,
  showSignInLink,
  signIn,
  signInByLink,
  signOut,
  type SignedIn,
} from '../../services/console/sign-in.ts'
import type { OpenCtx } from '../../services/context.ts'
import { countIfRefused } from '../edge/key-caller.ts'
import { defineRoute } from '../kit/route.ts'
import { sessionCookie } from '../edge/session-cookie.ts'
import {
  ConsoleLink,
  ConsoleLinkOpening,
  ConsoleLinkShown,
  ConsoleSession,
  ConsoleSignedIn,
  ConsoleSignedOut,
} from './schemas/console.ts'

export const consoleRoutes = [
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
    summary: 'Get the key that the caller acts for, and its scopes',
    access: 'key',
    scope: 'read',
    response: ConsoleSession,
    async handle({ caller: ctx }) {
      const keysEndAt = await latestEndOf(ctx, ctx.deps.database)
      return {
        session_id: ctx.sessionId ?? null,
        key_id: ctx.apiKeyId,
        scopes: await scopesOf(ctx),
        keys_end_at: keysEndAt && wireTime(keysEndAt),
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
      return { signed_out: true as const }
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
