const units = { TB: 1e12, GB: 1e9, MB: 1e6, kB: 1e3 }

/** The sentence of a refused request, and of a job whose prepared rows have no room. */
export const storageFull = (maxStoredBytes: number) =>
  `This account has stored ${amount(maxStoredBytes)} of data sets and models, the most that it may store. Delete some of them.`

export const databaseFull = (maxRowBytes: number) =>
  `This account has stored ${amount(maxRowBytes)} of rows, answers and requests, the most that it may store. Delete stored rows, evals or evaluations, or wait until batches go.`

export const rolloutsFull = (maxRolloutBytes: number) =>
  `This account has stored ${amount(maxRolloutBytes)} of rollouts, the most that it may store. Rollouts are removed keep_rollouts days after the end of their jobs. Wait until then, or train by another method.`

function amount(bytes: number): string {
  const [unit, size] = Object.entries(units).find(([, least]) => bytes >= least) ?? ['bytes', 1]
  return `${Number((bytes / size).toPrecision(3))} ${unit}`
}
