import type { ReactNode } from 'react'

type Props = {
  id: string
  label: string
  hint?: string
  /** What the service says of the value. */
  problem?: string | undefined
  children: ReactNode
}

/** A field of a form under its name. */
export function Field({ id, label, hint, problem, children }: Props) {
  return (
    <div className="field">
      <label htmlFor={id}>
        {label} {hint && <span className="quiet">{hint}</span>}
      </label>
      {children}
      {problem && <p className="notice failure">{problem}</p>}
    </div>
  )
}
