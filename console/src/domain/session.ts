// The session as a page knows it, and as the service tells it.
export type Session = {
  pageToken: string
  keyId: string
  scopes: readonly string[]
  expiresAt: string
  /** Set for somebody who signed in with the identity provider. */
  person?: Person
}

/** The account of the session is one of `accounts`. */
type Person = { name: string; account: string; accounts: readonly { account: string; role: string }[] }

export type SignedIn = { page_token: string; key_id: string; scopes: readonly string[]; expires_at: string }

export const sessionOf = ({
  page_token: pageToken,
  key_id: keyId,
  scopes,
  expires_at: expiresAt,
  ...person
}: SignedIn & Partial<Person>): Session => ({
  ...{ pageToken, keyId, scopes, expiresAt },
  ...(person.name !== undefined && { person: person as Person }),
})

/**
 * The session behind the # of an address, to which the identity provider's page leads. A foreign page may lead there with
 * anything, so `isKnown` asks the service whether its token belongs to the cookie.
 */
export async function sessionToldIn(
  hash: string,
  isKnown: (pageToken: string) => Promise<boolean>,
): Promise<Session | null> {
  const text = hash
    .slice(hash.indexOf('=') + 1)
    .replaceAll('-', '+')
    .replaceAll('_', '/')
  try {
    const bytes = Uint8Array.from(atob(text), (each) => each.charCodeAt(0))
    const session = sessionOf(JSON.parse(new TextDecoder().decode(bytes)) as SignedIn)
    return (await isKnown(session.pageToken)) ? session : null
  } catch {
    return null
  }
}
