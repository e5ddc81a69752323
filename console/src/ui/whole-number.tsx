import type { ComponentProps } from 'react'

type Props = Pick<ComponentProps<'input'>, 'id' | 'placeholder'> & {
  max: number
  /** As typed; empty for the default. */
  value: string
  onChange: (typed: string) => void
}

/** A field for a whole number from 1. */
export const WholeNumber = ({ onChange, ...input }: Props) => (
  <input type="number" min={1} {...input} onChange={({ target }) => onChange(target.value)} />
)
