// The token of a person who signed in with `anneal login --sso`, renewed while its refresh token lasts.
import { CommandError, exitCodes } from '../command-error.ts'
import { isRefusal, openProvider, reasonOf, tokensOf } from './identity-provider.ts'
import { changeProfiles, findProfile, type Profile, type SignedIn } from './profiles.ts'

/** A token that ends sooner is renewed before it is sent. */
const leftMs = 30_000

/** @param refused a token that the service did not take. @throws CommandError if the sign-in has ended, or nobody answers */
export async function personToken(name: string, refused?: string): Promise<string> {
  const { signedIn } = personIn(findProfile(name)?.profile)
  if (signedIn.token !== refused && endsInMs(signedIn) > leftMs) return signedIn.token
  return renew(name, refused ?? null)
}

/** Many providers end a session whose refresh token is used twice, so another command's new token is taken if there is one. */
const renew = (name: string, refused: string | null) =>
  changeProfiles(async (known) => {
    const profile = personIn(known.profiles[name])
    const { url, signedIn } = profile
    if (signedIn.token !== refused && endsInMs(signedIn) > leftMs) return [known, signedIn.token]
    const isUsable = signedIn.token !== refused && endsInMs(signedIn) > 0
    const renewed = await askForTokens(profile).catch((error: unknown) => {
      if (!isUsable) throw error
      return signedIn
    })
    const profiles = { ...known.profiles, [name]: { url, signedIn: renewed } }
    return [renewed === signedIn ? known : { ...known, profiles }, renewed.token]
  })

async function askForTokens({ url, signedIn }: Person): Promise<SignedIn> {
  const { refreshToken, issuer } = signedIn
  if (refreshToken === null) throw ended(url)
  const { sdk, known } = await openProvider(signedIn)
  const granted = await sdk.refreshTokenGrant(known, refreshToken).catch((error: unknown) => {
    if (isRefusal(error)) throw ended(url)
    throw new CommandError(
      `The identity provider ${issuer} does not renew the sign-in (${reasonOf(error)}). Try again.`,
      exitCodes.unreachable,
    )
  })
  const tokens = tokensOf(granted, signedIn)
  return { ...signedIn, ...tokens, refreshToken: tokens.refreshToken ?? refreshToken }
}

type Person = { url: string; signedIn: SignedIn }

/** Another command may have replaced or removed the profile meanwhile. */
function personIn(profile: Profile | undefined): Person {
  if (profile && 'signedIn' in profile) return profile
  throw new CommandError('The profile is no sign-in any more. Run the command again.')
}

const endsInMs = ({ expiresAt }: SignedIn) => Date.parse(expiresAt) - Date.now()

const ended = (url: string) => new CommandError(`Your sign-in has ended. Sign in again: anneal login ${url} --sso`)
