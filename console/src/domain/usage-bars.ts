// The usage of each day as a stack of its models.

type Used = { day?: string; model_name?: string }
export type Stacks = {
  /** The models that used most, the first at the bottom; the others count as one. */
  names: string[]
  days: { day: string; values: number[]; sum: number }[]
  most: number
}

const others = 'others'

/** @param days all days that are shown, the oldest first @param mostNames models with a colour of their own */
export function stacksOf<T extends Used>(
  rows: readonly T[],
  { days, valueOf, mostNames }: { days: readonly string[]; valueOf: (row: T) => number; mostNames: number },
): Stacks {
  const totals = new Map<string, number>()
  for (const row of rows) {
    const name = row.model_name ?? ''
    totals.set(name, (totals.get(name) ?? 0) + valueOf(row))
  }
  const used = [...totals].filter(([, total]) => total > 0).toSorted(([, a], [, b]) => b - a)
  const own = used.slice(0, used.length > mostNames ? mostNames - 1 : mostNames).map(([name]) => name)
  const names = own.length < used.length ? [...own, others] : own
  const placeOf = (name: string) => (own.includes(name) ? own.indexOf(name) : names.length - 1)
  const shown = new Map(days.map((day) => [day, names.map(() => 0)]))
  for (const row of rows) {
    const values = shown.get(row.day ?? '')
    const place = placeOf(row.model_name ?? '')
    if (values && valueOf(row) > 0) values[place] = (values[place] ?? 0) + valueOf(row)
  }
  const stacks = Array.from(shown, ([day, values]) => ({
    day,
    values,
    sum: values.reduce((sum, each) => sum + each, 0),
  }))
  return { names, days: stacks, most: Math.max(0, ...stacks.map(({ sum }) => sum)) }
}

/** The last days, the oldest first, such as 2026-11-20. */
export const lastDays = (span: number, now: Date) =>
  Array.from({ length: span }, (_, index) =>
    new Date(now.getTime() - (span - 1 - index) * 86_400_000).toISOString().slice(0, 10),
  )
