// Several data sets of one job, each with a weight.

export type DataSet = { dataset_id: string; weight: number }
export type TypedSet = { id: string; weight: string }

/** @throws Error with a sentence about the weight */
export function sentSet({ id, weight }: TypedSet): DataSet {
  const value = weightOf(weight)
  if (value === null) throw new Error(`Write a number above 0 as the weight of ${id}: “${weight}” is none.`)
  return { dataset_id: id, weight: value }
}

function weightOf(text: string): number | null {
  const value = Number(text)
  return text.trim() !== '' && Number.isFinite(value) && value > 0 ? value : null
}

/** A share says which part of all visits goes to the rows of a set. Null unless every weight is a number above 0. */
export function sharesOf(sets: readonly TypedSet[]): number[] | null {
  const weights = sets.map(({ weight }) => weightOf(weight))
  if (!weights.every((weight) => weight !== null)) return null
  const sum = weights.reduce((total, weight) => total + weight, 0)
  return weights.map((weight) => weight / sum)
}

/** The form with these sets; the only one that is left is a job on it alone. */
export const withSets = (sets: readonly TypedSet[]): { datasetId: string; sets: readonly TypedSet[] | null } => ({
  datasetId: sets[0]?.id ?? '',
  sets: sets.length > 1 ? sets : null,
})
