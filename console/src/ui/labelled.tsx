// Fields under their names.
import type { ReactNode } from 'react'

export const Labelled = ({ name, children }: { name: string; children: ReactNode }) => (
  <label>
    <span className="quiet">{name}</span>
    {children}
  </label>
)

type ChoiceProps<T extends string> = {
  label: string
  value: T
  values: readonly T[]
  /** The text of a value, where that is another one. */
  textOf?: (value: T) => string
  onChange: (value: T) => void
}

export function Choice<T extends string>({ label, value, values, textOf, onChange }: ChoiceProps<T>) {
  return (
    <Labelled name={label}>
      <select value={value} onChange={(event) => onChange(event.target.value as T)}>
        {values.map((each) => (
          <option key={each} value={each}>
            {textOf ? textOf(each) : each}
          </option>
        ))}
      </select>
    </Labelled>
  )
}
