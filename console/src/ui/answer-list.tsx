import { useState, type ReactNode } from 'react'

const rowsAtOnce = 20

/** The rows of an evaluation, twenty more with each press of the button. Each child is a `li` with its key. */
export function AnswerList<Row>({
  rows,
  children,
}: {
  rows: readonly Row[]
  children: (row: Row, index: number) => ReactNode
}) {
  const [shown, setShown] = useState(rowsAtOnce)
  return (
    <>
      <ol className="answers">{rows.slice(0, shown).map(children)}</ol>
      {shown < rows.length && (
        <button type="button" onClick={() => setShown(shown + rowsAtOnce)}>
          Show {Math.min(rowsAtOnce, rows.length - shown)} more
        </button>
      )}
    </>
  )
}
