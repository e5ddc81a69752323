// Short messages that say what an action has done. Each leaves by itself; a failure stays in the page instead.
import { useSyncExternalStore } from 'react'
import { Icon } from './icon.tsx'
import { Link } from './router.tsx'

type More = { href: string; text: string }
type Toast = { id: number; text: string; more: More | null }

const shownMs = 6000
const most = 3
const listeners = new Set<() => void>()
let toasts: readonly Toast[] = []
let made = 0

function change(to: readonly Toast[]) {
  toasts = to
  for (const listener of listeners) listener()
}

const remove = (id: number) => change(toasts.filter((each) => each.id !== id))

/** @param more a link to what the action has made */
export function toast(text: string, more: More | null = null) {
  const id = ++made
  change([...toasts.slice(1 - most), { id, text, more }])
  setTimeout(() => remove(id), shownMs)
}

const subscribe = (listener: () => void) => {
  listeners.add(listener)
  return () => void listeners.delete(listener)
}

export function Toasts() {
  const shown = useSyncExternalStore(subscribe, () => toasts)
  return (
    <div className="toasts" role="status" aria-label="Messages">
      {shown.map(({ id, text, more }) => (
        <p key={id} className="toast">
          <span>{text}</span>
          {more && <Link href={more.href}>{more.text}</Link>}
          <button type="button" className="plain small" aria-label="Close the message" onClick={() => remove(id)}>
            <Icon name="close" />
          </button>
        </p>
      ))}
    </div>
  )
}
