import type { ReactNode } from 'react'

/** The numbers that people look for first. The first one is the largest. */
export const Figures = ({ figures }: { figures: readonly (readonly [name: string, value: ReactNode])[] }) => (
  <dl className="figures">
    {figures.map(([name, value], index) => (
      <div key={name} className={index === 0 ? 'first' : undefined}>
        <dt>{name}</dt>
        <dd>{value}</dd>
      </div>
    ))}
  </dl>
)
