import type { ReactNode } from 'react'

/** Shows names with their values: one below the other, or in a line. */
export function Facts({
  facts,
  className = 'facts',
}: {
  facts: readonly (readonly [string, ReactNode])[]
  className?: 'facts' | 'strip'
}) {
  return (
    <dl className={className}>
      {facts.map(([name, value]) => (
        <div key={name}>
          <dt>{name}</dt>
          <dd>{value}</dd>
        </div>
      ))}
    </dl>
  )
}
