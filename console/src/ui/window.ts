// Draws only the rows of a long list that are in sight. All rows have one height.
import { useEffect, useState, type RefObject } from 'react'

/** Rows beyond the edge of the screen, so that scrolling shows no gap. */
const spare = 12

export type RowWindow = { from: number; to: number; before: number; after: number }

export function useRowWindow(box: RefObject<HTMLElement | null>, count: number, rowHeight: number): RowWindow {
  const [range, setRange] = useState({ from: 0, to: 60 })
  useEffect(() => {
    let frame = 0
    const measure = () => {
      frame = 0
      const top = box.current?.getBoundingClientRect().top ?? 0
      const from = Math.max(0, Math.floor(-top / rowHeight) - spare)
      const to = from + Math.ceil(window.innerHeight / rowHeight) + 2 * spare
      setRange((known) => (known.from === from && known.to === to ? known : { from, to }))
    }
    const later = () => {
      frame ||= requestAnimationFrame(measure)
    }
    measure()
    window.addEventListener('scroll', later, { passive: true })
    window.addEventListener('resize', later)
    return () => {
      cancelAnimationFrame(frame)
      window.removeEventListener('scroll', later)
      window.removeEventListener('resize', later)
    }
  }, [box, count, rowHeight])
  const to = Math.min(count, range.to)
  const from = Math.min(range.from, to)
  return { from, to, before: from * rowHeight, after: (count - to) * rowHeight }
}
