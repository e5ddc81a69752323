import { findProfile } from './remote/profiles.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

export const command = serviceVerb({
  async run({ client, address, print }) {
    const caller = await client.get('/v1/console/session')
    const { person, role } = caller
    const { apiUrl: url, profile } = address
    const expiresAt = endOfToken(profile) ?? caller.expires_at
    print({ profile: profile ?? null, url, ...caller, expires_at: expiresAt }, () =>
      table(
        ['PROFILE', profile ?? 'none'],
        [
          ['SERVICE', url],
          ['ACCOUNT', `${caller.account_name} (${caller.account_id})`],
          person ? ['PERSON', person.mail ?? person.id] : ['KEY', `${caller.key_name} (${caller.key_id})`],
          role === null ? ['SCOPES', caller.scopes.join(', ')] : ['ROLE', role],
          ['UNTIL', expiresAt ?? 'no end'],
        ],
      ),
    )
  },
})

/** The service keeps no tokens of people, so only the profile knows when a token ends. Tokens are renewed before. */
function endOfToken(name: string | undefined): string | undefined {
  const profile = name === undefined ? undefined : findProfile(name)?.profile
  return profile && 'signedIn' in profile ? profile.signedIn.expiresAt : undefined
}
