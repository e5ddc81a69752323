// The session of this browser. The cookie is out of reach of scripts; what is kept here is the token that counts only
// together with it. All tabs share one session.
import { useSyncExternalStore } from 'react'
import { sessionToldIn, type Session } from '../domain/session.ts'

export type Scope = 'inference' | 'training' | 'data' | 'read' | 'admin'
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

/** Takes the session of somebody who comes back from the identity provider, if it belongs to this browser's cookie. */
export async function takeFromAddress() {
  const { hash } = location
  if (!hash.startsWith('#signed-in=')) return
  // It has no further use, and should not stay in the address.
  history.replaceState(null, '', location.pathname + location.search)
  const told = await sessionToldIn(hash, async (pageToken) => {
    const headers = { 'X-Console-Token': pageToken }
    const signal = AbortSignal.timeout(answerMs)
    return (await fetch('/v1/console/session', { headers, credentials: 'same-origin', signal })).ok
  })
  if (told) keepSession(told)
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
