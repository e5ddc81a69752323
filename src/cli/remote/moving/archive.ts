// The folder of an export: pieces.jsonl, a line for each piece that is there whole, and manifest.json once all are.
import { createHash } from 'node:crypto'
import {
  appendFileSync,
  createReadStream,
  existsSync,
  mkdirSync,
  readFileSync,
  renameSync,
  statSync,
  writeFileSync,
} from 'node:fs'
import { join } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { CommandError } from '../../command-error.ts'

export const archiveFormat = 1

export type ArchivedFile = { name: string; sizeBytes: number; sha256: string }

export type DataPiece = {
  kind: 'data'
  dataset_id: string
  version: number
  file: ArchivedFile
  file_name: string | null
  purpose: string | null
  columns: { input: string | null; output: string } | null
  is_public: boolean
  created_at: string
  expires_at: string | null
}
export type JobPiece = {
  kind: 'job'
  job_id: number
  installation: string
  base_model: string
  /** Tells a job that has changed since: it was resumed, or its model was deleted. */
  state: string
  record: ArchivedFile
  model_name: string | null
  /** The custom name with its version, such as `support-bot@3`. */
  version: string | null
  files: ArchivedFile[]
}
export type AliasPiece = { kind: 'alias'; name: string; alias: string; version: number }
export type EvalPiece = { kind: 'eval'; id: string; body: Record<string, unknown> }
export type Piece = DataPiece | JobPiece | AliasPiece | EvalPiece

export type Manifest = {
  format: number
  exported_at: string
  counts: Record<Piece['kind'] | 'models', number>
  not_moved: string[]
  pieces: Piece[]
}

const safeName = /^[A-Za-z0-9][A-Za-z0-9._-]{0,127}$/
const hash = /^[0-9a-f]{64}$/

/** The key of a piece: a later line of the same key replaces an earlier one. */
export function keyOf(piece: Piece): string {
  switch (piece.kind) {
    case 'data':
      return `data ${piece.dataset_id} ${piece.version}`
    case 'job':
      return `job ${piece.job_id}`
    case 'alias':
      return `alias ${piece.name}@${piece.alias}`
    case 'eval':
      return `eval ${piece.id}`
  }
}

/** Where the files of a piece lie. The names come from a file that somebody may have changed: none leads out of the folder. */
export function pathOf(folder: string, piece: DataPiece | JobPiece, file: ArchivedFile): string {
  const parts = piece.kind === 'data' ? ['data', piece.dataset_id] : ['jobs', String(piece.job_id)]
  if (![...parts, file.name].every((part) => safeName.test(part)) || !hash.test(file.sha256))
    throw new CommandError(`The export names a file "${parts.join('/')}/${file.name}", which no export writes.`)
  return join(folder, ...parts, file.name)
}

export function openArchive(folder: string) {
  mkdirSync(folder, { recursive: true, mode: 0o700 })
  const journal = join(folder, 'pieces.jsonl')
  const kept = new Map<string, Piece>()
  if (existsSync(journal))
    for (const line of readFileSync(journal, 'utf8').split('\n')) {
      const piece = parsed(line)
      if (piece) kept.set(keyOf(piece), piece)
    }
  return {
    find: <P extends Piece>(key: string) => kept.get(key) as P | undefined,
    add(piece: Piece) {
      appendFileSync(journal, `${JSON.stringify(piece)}\n`, { mode: 0o600 })
      kept.set(keyOf(piece), piece)
    },
    finish(manifest: Manifest) {
      const path = join(folder, 'manifest.json')
      writeFileSync(`${path}.part`, `${JSON.stringify(manifest, null, 1)}\n`, { mode: 0o600 })
      renameSync(`${path}.part`, path)
    },
  }
}

/** A line that a killed export has cut is no piece. */
function parsed(line: string): Piece | null {
  try {
    return JSON.parse(line) as Piece
  } catch {
    return null
  }
}

export function readManifest(folder: string): Manifest {
  const path = join(folder, 'manifest.json')
  if (!existsSync(path))
    throw new CommandError(
      `There is no ${path}. ${existsSync(join(folder, 'pieces.jsonl')) ? 'The export is not finished: repeat anneal export.' : 'Name the folder of anneal export.'}`,
    )
  const manifest = JSON.parse(readFileSync(path, 'utf8')) as Manifest
  if (manifest.format !== archiveFormat)
    throw new CommandError(`${path} has the format ${manifest.format}; this release reads ${archiveFormat}.`)
  return manifest
}

/** @returns null when there is no file */
export async function describeFile(path: string): Promise<Omit<ArchivedFile, 'name'> | null> {
  const stat = statSync(path, { throwIfNoEntry: false })
  if (!stat?.isFile()) return null
  const sum = createHash('sha256')
  await pipeline(createReadStream(path), sum)
  return { sizeBytes: stat.size, sha256: sum.digest('hex') }
}

/** Whether the file is there whole. */
export async function isWhole(path: string, { sizeBytes, sha256 }: ArchivedFile): Promise<boolean> {
  const there = await describeFile(path)
  return there?.sizeBytes === sizeBytes && there.sha256 === sha256
}
