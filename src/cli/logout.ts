import { defineVerb } from './command.ts'
import { isRefusal, openProvider } from './remote/identity-provider.ts'
import { forgetProfile, type SignedIn } from './remote/profiles.ts'

export const command = defineVerb({
  options: { profile: { value: 'NAME', says: 'the service (default: the current profile)' } },
  async run(_args, values) {
    const { name, profile } = await forgetProfile(values.profile)
    const isEnded = 'signedIn' in profile ? await endAtProvider(profile.signedIn) : true
    console.log(`Logged out: the profile "${name}" is forgotten.`)
    if (!isEnded) console.error('The identity provider was not told; its refresh token ends there by itself.')
  },
})

/** @returns false if a refresh token goes on at the provider. */
async function endAtProvider(signedIn: SignedIn): Promise<boolean> {
  if (signedIn.refreshToken === null) return true
  try {
    const { sdk, known } = await openProvider(signedIn)
    if (known.serverMetadata().revocation_endpoint === undefined) return false
    await sdk.tokenRevocation(known, signedIn.refreshToken, { token_type_hint: 'refresh_token' })
    return true
  } catch (error) {
    // A token that the provider does not know any more has ended.
    return isRefusal(error)
  }
}
