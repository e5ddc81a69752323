// The session of this browser. The cookie is out of reach of scripts; what is kept here is the token that counts only
// together with it. All tabs share one session.
import { useSyncExternalStore } from 'react'

export type Scope = 'inference' | 'training' | 'data' | 'read' | 'admin'
export type Session = { pageToken: string; keyId: string; scopes: readonly string[]; expiresAt: string }

const storageKey = 'anneal-session'
const listeners = new Set<() => void>()
let current = read()

window.addEventListener('storage', (event) => {
  if (event.key === storageKey) change(read())
})

export const currentSession = () => current

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

function read(): Session | null {
  try {
    const session = JSON.parse(localStorage.getItem(storageKey) ?? 'null') as Session | null
    return session && typeof session.pageToken === 'string' ? session : null
  } catch {
    return null
  }
}
