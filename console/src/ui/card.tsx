import { useId, type ReactNode } from 'react'

type Props = { title: ReactNode; actions?: ReactNode; children: ReactNode }

/** A part of a page with its name and its actions. */
export function Card({ title, actions, children }: Props) {
  const id = useId()
  return (
    <section className="card" aria-labelledby={id}>
      <header>
        <h2 id={id}>{title}</h2>
        {actions && <div className="buttons">{actions}</div>}
      </header>
      {children}
    </section>
  )
}
