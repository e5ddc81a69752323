// The address of the page, under /console.
import { useSyncExternalStore, type ComponentProps } from 'react'

const base = '/console'
const listeners = new Set<() => void>()
window.addEventListener('popstate', changed)

function changed() {
  for (const listener of listeners) listener()
}

function subscribe(listener: () => void) {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

/** @param path with its query @param options.replace whether going back skips the present address */
function navigate(path: string, { replace = false }: { replace?: boolean } = {}) {
  if (replace) history.replaceState(null, '', base + path)
  else history.pushState(null, '', base + path)
  changed()
}

const readPath = () => location.pathname.slice(base.length) || '/'

/** The path of the page without its query, and a function that goes elsewhere. */
export const useLocation = () => [useSyncExternalStore(subscribe, readPath), navigate] as const

/** The query of the address. */
export const useSearch = () => useSyncExternalStore(subscribe, () => location.search.slice(1))

/** The query of the address, and a function that changes some of its values. A value without a text is left out. */
export function useQueryOfAddress() {
  const search = useSearch()
  const change = (values: Record<string, string>) => {
    const query = new URLSearchParams(location.search)
    for (const [name, value] of Object.entries(values))
      if (value === '') query.delete(name)
      else query.set(name, value)
    navigate(query.size === 0 ? readPath() : `${readPath()}?${query}`, { replace: true })
  }
  return [new URLSearchParams(search), change] as const
}

/** Leaves clicks that open another tab or window to the browser. */
export function Link({ href, ...rest }: ComponentProps<'a'> & { href: string }) {
  return (
    <a
      {...rest}
      href={base + href}
      onClick={(event) => {
        if (event.metaKey || event.ctrlKey || event.altKey || event.shiftKey) return
        event.preventDefault()
        navigate(href)
      }}
    />
  )
}
