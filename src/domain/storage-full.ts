const bytesPerGigabyte = 1e9

/** The sentence of a refused request, and of a job whose prepared rows have no room. */
export const storageFull = (maxStoredBytes: number) =>
  `This account has stored ${(maxStoredBytes / bytesPerGigabyte).toFixed(1)} GB of data sets and models, the most that it may store. Delete some of them.`
