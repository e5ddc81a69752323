// Keys of a page: single letters that work while no field has the focus.
import { useEffect } from 'react'

export function useKeys(keys: Record<string, (event: KeyboardEvent) => void>) {
  useEffect(() => {
    const onKey = (event: KeyboardEvent) => {
      const target = event.target as HTMLElement
      const isTyping = target.matches('input, textarea, select, [contenteditable]')
      if (event.ctrlKey || event.metaKey || event.altKey || isTyping || document.querySelector('dialog[open]')) return
      const act = keys[event.key]
      if (!act) return
      event.preventDefault()
      act(event)
    }
    window.addEventListener('keydown', onKey)
    return () => window.removeEventListener('keydown', onKey)
  })
}
