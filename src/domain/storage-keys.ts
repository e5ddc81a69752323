// Keys in the object store. Bytes under a key that a presigned URL can write are never trusted.
import { uuidPattern } from './identifiers.ts'

export const storageKeys = {
  /** Holds the id of the installation whose objects these are. Lies in no folder, so no sweep removes it. */
  installation: 'installation',
  /** Prefix of every upload by URL. */
  uploads: 'uploads/',
  /** Written by the owner's presigned URL. */
  upload: (accountId: string, datasetId: string, versionId: string) => `uploads/${accountId}/${datasetId}/${versionId}`,
  /** Rows from a request's body. */
  inline: (accountId: string, versionId: string, name: string) => `inline/${accountId}/${versionId}/${name}`,
  /** `unique` separates the tries of one activity. */
  prepared: (jobId: number, unique: string, name: string) => `jobs/${jobId}/data/${unique}/${name}`,
  /** Written by a pod's presigned URL. */
  artifact: (jobId: number, artifactId: string, name: string) => `jobs/${jobId}/artifacts/${artifactId}/${name}`,
  model: (accountId: string, modelName: string, name: string) => `models/${accountId}/${modelName}/${name}`,
  /** Lies beside the adapter that the card describes, so it goes with the adapter. A card with another text is another object. */
  card: (adapterKey: string, sha256: string) =>
    `${adapterKey.slice(0, adapterKey.lastIndexOf('/'))}/card-${sha256}/README.md`,
  /** `name` must differ between tries that may write at once. */
  batch: (accountId: string, batchId: string, name: string) => `batches/${accountId}/${batchId}/${name}`,
  /** `name` must differ between tries that may write at once. */
  evaluation: (accountId: string, evaluationId: string, name: string) =>
    `evaluations/${accountId}/${evaluationId}/${name}`,
  /** Written by the presigned URLs of one program, the `run`th of its export. */
  exportUpload: (accountId: string, exportId: string, run: number, name: string) =>
    `exports/${accountId}/${exportId}/run-${run}/${name}`,
  exportFile: (accountId: string, exportId: string, name: string) => `exports/${accountId}/${exportId}/files/${name}`,
  log: (jobId: number, attempt: number) => `jobs/${jobId}/logs/${attempt}.log`,
}

/** Prefix of everything that belongs to a job. */
export const jobFolder = (jobId: number) => `jobs/${jobId}/`

/** Prefixes of everything that belongs to an account, except its jobs' folders. */
export const accountFolders = (accountId: string) =>
  ['uploads', 'inline', 'models', 'batches', 'evaluations', 'exports'].map((kind) => `${kind}/${accountId}/`)

/** Prefixes of every key that this service writes. */
export const allFolders = ['uploads/', 'inline/', 'jobs/', 'models/', 'batches/', 'evaluations/', 'exports/']

/** The row that an object belongs to. Without it, the object is an orphan. */
export type KeyOwner =
  | { kind: 'version'; id: string }
  | { kind: 'artifact'; id: string }
  /** Checked rows, named by their job. */
  | { kind: 'data'; jobId: number }
  /** A log, kept as long as its job. */
  | { kind: 'job'; jobId: number }
  | { kind: 'model'; name: string }
  | { kind: 'batch'; id: string }
  | { kind: 'evaluation'; id: string }
  | { kind: 'export'; id: string }

const owners: [pattern: RegExp, owner: (id: string) => KeyOwner][] = [
  [RegExp(`^uploads/[^/]+/[^/]+/(${uuidPattern})$`), (id) => ({ kind: 'version', id })],
  [RegExp(`^inline/[^/]+/(${uuidPattern})/`), (id) => ({ kind: 'version', id })],
  [RegExp(`^jobs/\\d{1,9}/artifacts/(${uuidPattern})/`), (id) => ({ kind: 'artifact', id })],
  [/^jobs\/(\d{1,9})\/data\//, (id) => ({ kind: 'data', jobId: Number(id) })],
  [/^jobs\/(\d{1,9})\//, (id) => ({ kind: 'job', jobId: Number(id) })],
  [/^models\/[^/]+\/([0-9a-f]{64})\//, (name) => ({ kind: 'model', name })],
  [RegExp(`^batches/[^/]+/(${uuidPattern})/`), (id) => ({ kind: 'batch', id })],
  [RegExp(`^evaluations/[^/]+/(${uuidPattern})/`), (id) => ({ kind: 'evaluation', id })],
  [RegExp(`^exports/[^/]+/(${uuidPattern})/`), (id) => ({ kind: 'export', id })],
]

/** @returns null for a key that this service does not write */
export function ownerOfKey(key: string): KeyOwner | null {
  for (const [pattern, owner] of owners) {
    const id = pattern.exec(key)?.[1]
    if (id !== undefined) return owner(id)
  }
  return null
}
