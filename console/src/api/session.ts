// The session of this browser. The cookie is out of reach of scripts; what is kept here is the token that counts only
// together with it. All tabs share one session.
import { useSyncExternalStore } from 'react'

export type Scope = 'inference' | 'training' | 'data' | 'read' | 'admin'
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

const storageKey = 'anneal-session'
/** The first page waits so long for an answer. */
const answerMs = 10_000
const listeners = new Set<() => void>()
let current = read()

window.addEventListener('storage', (event) => {
  if (event.key === storageKey) change(read())
})

export const currentSession = () => current

/** Whether the service has ended the session of a person on this page. */
export const hasEnded = () => ended

let ended = false

/** The service knows the session no more. */
export function noteEnd() {
  ended = current?.person !== undefined
  keepSession(null)
}

export function keepSession(session: Session | null) {
  if (session) localStorage.setItem(storageKey, JSON.stringify(session))
  else localStorage.removeItem(storageKey)
  change(session)
}

/** @returns a function that stops listening */
export function onSessionChange(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export const useSession = () => useSyncExternalStore(onSessionChange, currentSession)

export const useMay = (scope: Scope) => useSession()?.scopes.includes(scope) ?? false

function change(session: Session | null) {
  current = session
  for (const listener of listeners) listener()
}

/**
 * The identity provider's page leads to a page of the console, with the session behind the #. A foreign page may lead here with
 * anything, so it is kept only if the service knows it together with this browser's cookie.
 */
export async function takeFromAddress() {
  const given = /^#signed-in=([\w-]+)$/.exec(location.hash)?.[1]
  if (given === undefined) return
  // It has no further use, and should not stay in the address.
  history.replaceState(null, '', location.pathname + location.search)
  try {
    const bytes = Uint8Array.from(atob(given.replaceAll('-', '+').replaceAll('_', '/')), (each) => each.charCodeAt(0))
    const session = sessionOf(JSON.parse(new TextDecoder().decode(bytes)) as SignedIn)
    const headers = { 'X-Console-Token': session.pageToken }
    const signal = AbortSignal.timeout(answerMs)
    const { ok } = await fetch('/v1/console/session', { headers, credentials: 'same-origin', signal })
    if (ok) keepSession(session)
  } catch {
    // The page of sign-in follows.
  }
}

/** Where somebody signs in, to come back to this page. */
export const loginAddress = (account?: string) =>
  `/v1/console/login?${new URLSearchParams({ return_to: location.pathname + location.search, ...(account !== undefined && { account }) })}`

function read(): Session | null {
  try {
    const session = JSON.parse(localStorage.getItem(storageKey) ?? 'null') as Session | null
    return session && typeof session.pageToken === 'string' ? session : null
  } catch {
    return null
  }
}
