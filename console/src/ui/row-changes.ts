// Rows that come fade in, and rows that go stay for a moment while they fade out.
import { useEffect, useState } from 'react'

/** Also in style/tokens.css. */
const quickMs = 150
/** More rows at once are another page or another filter. */
const mostGone = 5

type Key = string | number
type Shown<T> = { row: T; key: Key; isGone: boolean; className: string | undefined }

/** @returns the rows to draw, each with its class */
export function useRowChanges<T>(rows: readonly T[], keyOf: (row: T) => Key): Shown<T>[] {
  const [first] = useState(() => new Set(rows.map(keyOf)))
  const [known, setKnown] = useState(rows)
  const [gone, setGone] = useState<{ row: T; place: number }[]>([])
  const keys = new Set(rows.map(keyOf))
  if (known !== rows) {
    const left = known.map((row, place) => ({ row, place })).filter(({ row }) => !keys.has(keyOf(row)))
    setKnown(rows)
    if (left.length > 0 && left.length <= mostGone) setGone(left)
  }
  useEffect(() => {
    if (gone.length === 0) return
    const timer = setTimeout(() => setGone([]), quickMs)
    return () => clearTimeout(timer)
  }, [gone])
  const shown: Shown<T>[] = rows.map((row) => {
    const key = keyOf(row)
    return { row, key, isGone: false, className: first.has(key) ? undefined : 'comes' }
  })
  for (const { row, place } of gone) {
    const key = keyOf(row)
    if (!keys.has(key)) shown.splice(place, 0, { row, key, isGone: true, className: 'leaves' })
  }
  return shown
}
