// Where things lie in the object store. A key that an issued URL can write never holds trusted bytes.

export const storageKeys = {
  /** Before every upload by URL. */
  uploads: 'uploads/',
  /** Written by the owner's presigned URL. */
  upload: (accountId: string, datasetId: string, versionId: string) => `uploads/${accountId}/${datasetId}/${versionId}`,
  /** Rows that came inside a request. */
  inline: (accountId: string, versionId: string, name: string) => `inline/${accountId}/${versionId}/${name}`,
  /** `unique` keeps two tries of one activity apart. */
  prepared: (jobId: number, unique: string, name: string) => `jobs/${jobId}/data/${unique}/${name}`,
  /** Written by a pod's presigned URL. */
  artifact: (jobId: number, artifactId: string, name: string) => `jobs/${jobId}/artifacts/${artifactId}/${name}`,
  model: (accountId: string, modelName: string, name: string) => `models/${accountId}/${modelName}/${name}`,
  /** `name` is of one try where two may write at once. */
  batch: (accountId: string, batchId: string, name: string) => `batches/${accountId}/${batchId}/${name}`,
  log: (jobId: number, attempt: number) => `jobs/${jobId}/logs/${attempt}.log`,
}

/** Where all that belongs to one job lies. */
export const jobFolder = (jobId: number) => `jobs/${jobId}/`

/** Where all that belongs to an account lies, beside its jobs' folders. */
export const accountFolders = (accountId: string) =>
  ['uploads', 'inline', 'models', 'batches'].map((kind) => `${kind}/${accountId}/`)

/** Where issued URLs, or requests that broke off, may have written. */
export const sweptFolders = ['uploads/', 'inline/', 'jobs/']

/** The row that an object in one of these folders belongs to; null for a key that is none of ours. */
export function ownerOfKey(key: string): { versionId?: string; jobId?: number } | null {
  const job = /^jobs\/(\d{1,9})\//.exec(key)?.[1]
  if (job !== undefined) return { jobId: Number(job) }
  const versionId = /^uploads\/[^/]+\/[^/]+\/([^/]+)$/.exec(key)?.[1] ?? /^inline\/[^/]+\/([^/]+)\//.exec(key)?.[1]
  return versionId !== undefined && /^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/.test(versionId) ? { versionId } : null
}
