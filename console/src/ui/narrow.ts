import { useSyncExternalStore } from 'react'

/** Also in the style sheets. */
const query = matchMedia('(max-width: 44rem)')

const subscribe = (listener: () => void) => {
  query.addEventListener('change', listener)
  return () => query.removeEventListener('change', listener)
}

/** Whether tables are drawn as cards. */
export const useNarrow = () => useSyncExternalStore(subscribe, () => query.matches)
