// Whether the service answers, for the line above every page.
import { useSyncExternalStore } from 'react'

const listeners = new Set<() => void>()
let silentSince: Date | null = null

export function noteAnswer(isThere: boolean) {
  if (isThere === (silentSince === null)) return
  silentSince = isThere ? null : new Date()
  for (const listener of listeners) listener()
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** When the service stopped answering; null while it answers. */
export const useSilence = () => useSyncExternalStore(subscribe, () => silentSince)
