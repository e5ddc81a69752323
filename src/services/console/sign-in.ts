// Sign-in to the console: a session acts for the API key that opened it, with its scopes, until the key is revoked, the
// session ends, or twelve hours have passed. It has two secrets: the browser keeps one in an HttpOnly cookie, the pages send
// the other in a header. Neither authenticates without the other.
import { randomBytes } from 'node:crypto'
import { sha256 } from '../../domain/identifiers.ts'
import type { Scope } from '../../domain/scopes.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { ShownLink } from '../../repositories/console-sessions.ts'
import type { Repositories } from '../../repositories/database.ts'
import { recordAudit } from '../audit/record.ts'
import { scopesOf } from '../authenticate.ts'
import type { Ctx, EnteredPerson, OpenCtx } from '../context.ts'

export const sessionSeconds = 12 * 60 * 60
const linkSeconds = 60
/** From the making of a link to the answer of the person to whom its account was shown. */
const shownLinkSeconds = 5 * 60
/** Sessions and links of an account. The oldest one ends when there are more. */
export const maxSessions = 100

export type SignedIn = {
  sessionId: string
  cookie: string
  pageToken: string
  expiresAt: Date
  apiKeyId: string
  scopes: Scope[]
}

/** The caller has shown the key itself: a session opens no other session, or it could outlive its twelve hours. */
function requireKey({ sessionId, person }: Ctx) {
  if (person && sessionId === undefined)
    throw new ServiceError(
      'invalid_token',
      'invalid token: people sign in to the console at /v1/console/login, not with a token.',
    )
  if (sessionId !== undefined)
    throw new ServiceError(
      'invalid_token',
      'invalid token: send the API key itself; a session of the console cannot sign in again.',
    )
}

/** @throws ServiceError invalid_token for a caller with a session */
export async function signIn({ ctx }: { ctx: Ctx }): Promise<SignedIn> {
  requireKey(ctx)
  const scopes = await scopesOf(ctx)
  return { ...(await openSession(ctx, sessionSeconds)), apiKeyId: ctx.apiKeyId, scopes }
}

/** Opens a session for somebody whom the identity provider has named. It ends with the provider's token. */
export async function signInPerson({
  ctx: { deps, origin },
  input: { key, expiresAt },
}: {
  ctx: OpenCtx
  input: EnteredPerson
}): Promise<SignedIn> {
  const { id: apiKeyId, accountId, scopes, person } = key
  const ctx: Ctx = { deps, origin, accountId, apiKeyId, ...(person && { person }) }
  const seconds = Math.max(1, Math.min(sessionSeconds, (expiresAt.getTime() - Date.now()) / 1000))
  return { ...(await openSession(ctx, seconds)), apiKeyId, scopes }
}

async function openSession(ctx: Ctx, seconds: number) {
  const { secrets, hashes } = makeSecrets()
  const { id, expiresAt } = await withRoom(ctx, async (tx) => {
    // A newer token revives a person's key, so no session may be opened after its revocation.
    if (!(await tx.accounts.findLiveApiKey(ctx.apiKeyId)))
      throw new ServiceError('invalid_token', 'invalid token: the key was revoked.')
    const session = await tx.consoleSessions.add(ctx, hashes, seconds)
    await recordAudit(tx, ctx, 'session.create', session.id)
    return session
  })
  return { ...secrets, sessionId: id, expiresAt }
}

/** Makes a link that signs one browser in, once, within a minute. @throws ServiceError invalid_token for a caller with a session */
export async function createSignInLink({ ctx }: { ctx: Ctx }): Promise<{ link: string; expiresAt: Date }> {
  requireKey(ctx)
  const link = randomSecret()
  const { expiresAt } = await withRoom(ctx, async (tx) => {
    const made = await tx.consoleSessions.addLink(ctx, sha256(link), linkSeconds)
    await recordAudit(tx, ctx, 'session.link', made.id)
    return made
  })
  return { link, expiresAt }
}

/** Says to which account and key a link signs in, and opens nothing. @throws ServiceError invalid_token as `signInByLink` */
export async function showSignInLink({
  ctx: { deps },
  input: { link },
}: {
  ctx: OpenCtx
  input: { link: string }
}): Promise<ShownLink> {
  const shown = await deps.database.consoleSessions.showLink(sha256(link), shownLinkSeconds)
  if (!shown) throw uselessLink()
  return shown
}

/** @throws ServiceError invalid_token when the link was used, has expired, or its key is revoked */
export async function signInByLink({
  ctx: { deps, origin },
  input: { link },
}: {
  ctx: OpenCtx
  input: { link: string }
}): Promise<SignedIn> {
  const { secrets, hashes } = makeSecrets()
  const opened = await deps.database.transaction(async (tx) => {
    const session = await tx.consoleSessions.openLink(sha256(link), hashes, sessionSeconds)
    if (session) await recordAudit(tx, { ...session, origin }, 'session.create', session.id)
    return session
  })
  if (!opened) throw uselessLink()
  const { id, expiresAt, apiKeyId, scopes } = opened
  return { ...secrets, sessionId: id, expiresAt, apiKeyId, scopes }
}

const uselessLink = () =>
  new ServiceError(
    'invalid_token',
    'invalid token: a sign-in link works only once. Open it within a minute, and confirm it within five. Run `npm start` again for a new link, or sign in with an API key.',
  )

/** Other api processes may accept the session for up to a second more. A repeat changes nothing. */
export async function signOut({ ctx }: { ctx: Ctx }) {
  const { accountId, sessionId } = ctx
  if (sessionId === undefined) return
  await ctx.deps.database.transaction(async (tx) => {
    if (await tx.consoleSessions.end({ accountId, id: sessionId })) await recordAudit(tx, ctx, 'session.end', sessionId)
  })
}

/** Sign-ins of an account take turns, so that its limit is exact. */
function withRoom<T>({ deps, accountId }: Ctx, add: (tx: Repositories) => Promise<T>): Promise<T> {
  return deps.database.transaction(async (tx) => {
    await tx.accounts.hold(accountId)
    await tx.consoleSessions.keepNewest(accountId, maxSessions - 1)
    return add(tx)
  })
}

const randomSecret = () => randomBytes(32).toString('base64url')

function makeSecrets() {
  const secrets = { cookie: randomSecret(), pageToken: randomSecret() }
  return { secrets, hashes: { cookieHash: sha256(secrets.cookie), pageTokenHash: sha256(secrets.pageToken) } }
}
