type Props<T extends string> = {
  label: string
  value: T
  values: readonly T[]
  /** The text of a value, where that is another one. */
  textOf?: (value: T) => string
  onChange: (value: T) => void
}

/** Parts of a page of which one is shown. The page keeps the chosen one in its address. */
export const Tabs = <T extends string>({ label, value, values, textOf, onChange }: Props<T>) => (
  <nav className="tabs" aria-label={label}>
    {values.map((each) => (
      <button
        key={each}
        type="button"
        aria-current={each === value ? 'true' : undefined}
        onClick={() => onChange(each)}
      >
        {textOf ? textOf(each) : each}
      </button>
    ))}
  </nav>
)
