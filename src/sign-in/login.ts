// Sign-in of a browser: the authorization code flow of OpenID Connect with PKCE, state and nonce. What has to be known again when
// the browser comes back travels in its cookie, so no process remembers a sign-in that nobody ends.
import {
  authorizationCodeGrant,
  buildAuthorizationUrl,
  buildEndSessionUrl,
  calculatePKCECodeChallenge,
  fetchUserInfo,
  randomNonce,
  randomPKCECodeVerifier,
  randomState,
  type Configuration,
} from 'openid-client'
import { z } from 'zod'
import { parsedJson } from '../domain/parsed-json.ts'
import { invalidToken } from './invalid-token.ts'
import type { Issuer } from './issuer.ts'

const Begun = z.object({
  state: z.string(),
  nonce: z.string(),
  codeVerifier: z.string(),
  redirectUri: z.url(),
  returnTo: z.string(),
  account: z.string().nullable(),
})
type Begun = z.infer<typeof Begun>

/** Where the browser goes after, and the account that the person has chosen. */
export type LoginWish = Pick<Begun, 'redirectUri' | 'returnTo' | 'account'>

export const createLogin = (
  { configuration }: Pick<Issuer, 'configuration'>,
  { scopes, hasGroups }: { scopes: string; hasGroups: (claims: object) => boolean },
) => ({
  /** The address of the provider to which the browser is sent, and the value of its cookie. @throws ServiceError unavailable */
  async begin(wish: LoginWish): Promise<{ address: string; cookie: string }> {
    const begun: Begun = { state: randomState(), nonce: randomNonce(), codeVerifier: randomPKCECodeVerifier(), ...wish }
    const address = buildAuthorizationUrl(await configuration(), {
      ...{ redirect_uri: wish.redirectUri, scope: scopes, state: begun.state, nonce: begun.nonce },
      code_challenge: await calculatePKCECodeChallenge(begun.codeVerifier),
      code_challenge_method: 'S256',
    })
    return { address: address.href, cookie: Buffer.from(JSON.stringify(begun)).toString('base64url') }
  },

  /**
   * `query`: of the address to which the provider has sent the browser back.
   * @returns the token of identity and, as many providers name groups only there, what the provider says when asked
   * @throws ServiceError invalid_token; unavailable
   */
  async finish(query: string, cookie: string | undefined) {
    const begun = Begun.safeParse(parsedJson(Buffer.from(cookie ?? '', 'base64url').toString('utf8'))).data
    if (!begun) throw invalidToken('this browser has begun no sign-in, or ended it already. Sign in again')
    const known = await configuration()
    const address = new URL(`${begun.redirectUri}${query}`)
    try {
      const tokens = await authorizationCodeGrant(known, address, {
        ...{ expectedState: begun.state, expectedNonce: begun.nonce },
        ...{ pkceCodeVerifier: begun.codeVerifier, idTokenExpected: true },
      })
      const { sub: subject = '', ...claims } = tokens.claims() ?? {}
      const asked = hasGroups(claims) ? {} : await userInfo(known, tokens.access_token, subject)
      return { wish: begun, idToken: tokens.id_token ?? '', asked }
    } catch (error) {
      throw invalidToken(`the identity provider has not confirmed the sign-in (${reasonOf(error)}). Sign in again`)
    }
  },

  /** Where a browser signs out of the provider as well; null if the provider has no such page. @throws ServiceError unavailable */
  async signOutAddress(returnTo: string): Promise<string | null> {
    const known = await configuration()
    if (known.serverMetadata().end_session_endpoint === undefined) return null
    return buildEndSessionUrl(known, { post_logout_redirect_uri: returnTo }).href
  },
})

/** Empty if the provider does not say more: the token for it may be meant for another service. */
const userInfo = (known: Configuration, accessToken: string, subject: string): Promise<object> =>
  fetchUserInfo(known, accessToken, subject).catch(() => ({}))

/** Short: the provider may describe an error in any words. */
function reasonOf(error: unknown): string {
  const { error: code, code: ours } = error as { error?: unknown; code?: unknown }
  const word = [code, ours].find((each): each is string => typeof each === 'string' && /^\w{1,60}$/.test(each))
  return word ?? 'no answer that fits'
}
