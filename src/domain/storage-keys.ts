// Where things lie in the object store. A key that an issued URL can write never holds trusted bytes.
import { uuidPattern } from './identifiers.ts'

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

/** Everything of ours. */
export const allFolders = ['uploads/', 'inline/', 'jobs/', 'models/', 'batches/']

/** The row that has to name an object, or to be there, for it to count. */
export type KeyOwner =
  | { kind: 'version'; id: string }
  | { kind: 'artifact'; id: string }
  /** Checked rows: named by their job. */
  | { kind: 'data'; jobId: number }
  /** A log: there as long as its job. */
  | { kind: 'job'; jobId: number }
  | { kind: 'model'; name: string }
  | { kind: 'batch'; id: string }

const owners: [pattern: RegExp, owner: (id: string) => KeyOwner][] = [
  [RegExp(`^uploads/[^/]+/[^/]+/(${uuidPattern})$`), (id) => ({ kind: 'version', id })],
  [RegExp(`^inline/[^/]+/(${uuidPattern})/`), (id) => ({ kind: 'version', id })],
  [RegExp(`^jobs/\\d{1,9}/artifacts/(${uuidPattern})/`), (id) => ({ kind: 'artifact', id })],
  [/^jobs\/(\d{1,9})\/data\//, (id) => ({ kind: 'data', jobId: Number(id) })],
  [/^jobs\/(\d{1,9})\//, (id) => ({ kind: 'job', jobId: Number(id) })],
  [/^models\/[^/]+\/([0-9a-f]{64})\//, (name) => ({ kind: 'model', name })],
  [RegExp(`^batches/[^/]+/(${uuidPattern})/`), (id) => ({ kind: 'batch', id })],
]

/** @returns null for a key that is none of ours */
export function ownerOfKey(key: string): KeyOwner | null {
  for (const [pattern, owner] of owners) {
    const id = pattern.exec(key)?.[1]
    if (id !== undefined) return owner(id)
  }
  return null
}
