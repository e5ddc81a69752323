// `anneal import` sends the pieces of an export. The service finds what an earlier import has brought, so a repeat goes on where
// that one ended.
import { openAsBlob, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { CommandError } from '../../command-error.ts'
import type { Client } from '../client.ts'
import {
  isWhole,
  keyOf,
  pathOf,
  type AliasPiece,
  type ArchivedFile,
  type DataPiece,
  type EvalPiece,
  type JobPiece,
  type Manifest,
  type Piece,
} from './archive.ts'
import { evalsOf } from './export-account.ts'

type Import = { client: Client; folder: string; manifest: Manifest; say: (line: string) => void; signal: AbortSignal }
type Id = { kind: 'job' | 'model' | 'version' | 'eval'; old: string; new: string }
export type Moved = { imported: number; there: number; ids: Id[]; not_moved: string[] }

/** @throws CommandError before anything is written, where a file is damaged or the service lacks a base model */
export async function importAccount(asked: Import): Promise<Moved> {
  const { client, folder, say, signal } = asked
  const { manifest, expired } = withoutExpired(asked.manifest)
  const work = { ...asked, manifest }
  await requireWhole(work)
  await requireBaseModels(work)
  await requireOwnData(work)
  const moved: Moved = { imported: 0, there: 0, ids: [], not_moved: [...manifest.not_moved, ...expired] }
  const evals = new Map((await evalsOf(client)).map((piece) => [textOf(piece), piece.id]))
  for (const [index, piece] of manifest.pieces.entries()) {
    signal.throwIfAborted()
    const isNew = await importPiece(work, piece, { moved, evals })
    moved[isNew ? 'imported' : 'there'] += 1
    say(`${index + 1} of ${manifest.pieces.length}: ${keyOf(piece)}${isNew ? '' : ', there before'}`)
    writeFileSync(join(folder, 'import.json'), `${JSON.stringify(moved, null, 1)}\n`, { mode: 0o600 })
  }
  return moved
}

/** The service takes no rows that retention would remove at once. */
function withoutExpired(manifest: Manifest) {
  const expired: string[] = []
  const pieces = manifest.pieces.filter((piece) => {
    if (piece.kind !== 'data' || piece.expires_at === null || Date.parse(piece.expires_at) > Date.now()) return true
    expired.push(`version ${piece.version} of the data set ${piece.dataset_id}: it expired at ${piece.expires_at}`)
    return false
  })
  return { manifest: { ...manifest, pieces }, expired }
}

async function requireWhole({ folder, manifest }: Import) {
  for (const piece of manifest.pieces)
    if (piece.kind === 'data' || piece.kind === 'job')
      for (const file of filesOf(piece))
        if (!(await isWhole(pathOf(folder, piece, file), file)))
          throw new CommandError(
            `${pathOf(folder, piece, file)} is not as the manifest says. Repeat anneal export. Nothing was imported.`,
          )
}

const filesOf = (piece: DataPiece | JobPiece) => (piece.kind === 'data' ? [piece.file] : [piece.record, ...piece.files])

async function requireBaseModels({ client, manifest }: Import) {
  const { data } = await client.get('/v1/models')
  const known = new Set(
    data.flatMap(({ id, task, owned_by: owner }) => (owner === 'catalogue' && task === 'completion' ? [id] : [])),
  )
  const wanted = new Set(manifest.pieces.flatMap((piece) => (piece.kind === 'job' ? [piece.base_model] : [])))
  const missing = [...wanted].filter((name) => !known.has(name))
  if (missing.length > 0)
    throw new CommandError(
      `The catalogue of this service has no base model ${missing.map((name) => `"${name}"`).join(', ')}, which jobs of the export have. Its operator can add it. Nothing was imported.`,
    )
}

/** A data set of the same name is either the same one or refuses the import. */
async function requireOwnData({ client, manifest }: Import) {
  const own = new Set<string>()
  for (let after: string | undefined; ;) {
    const page = await client.get('/v1/data', { query: { after, limit: '1000' } })
    for (const { dataset_id: id } of page.datasets) own.add(id)
    if (page.next === null) break
    after = page.next
  }
  for (const piece of manifest.pieces) {
    if (piece.kind !== 'data' || !own.has(piece.dataset_id)) continue
    const params = { dataset_id: piece.dataset_id }
    const { versions } = await client.get('/v1/data/:dataset_id/versions', {
      params,
      query: { after: String(piece.version + 1), limit: '1' },
    })
    const [there] = versions
    if (there?.version === piece.version && there.bytes !== null && there.bytes !== piece.file.sizeBytes)
      throw new CommandError(
        `This account has other rows in version ${piece.version} of the data set "${piece.dataset_id}". Delete that data set, or import into an account without it. Nothing was imported.`,
      )
  }
}

type Known = { moved: Moved; evals: Map<string, string> }

/** @returns false when it was there before */
async function importPiece(work: Import, piece: Piece, { moved, evals }: Known): Promise<boolean> {
  switch (piece.kind) {
    case 'data':
      return importData(work, piece)
    case 'job':
      return importJob(work, piece, moved)
    case 'alias':
      return importAlias(work, piece, moved)
    case 'eval':
      return importEval(work, piece, { moved, evals })
  }
}

async function importData(work: Import, piece: DataPiece): Promise<boolean> {
  const { kind: _kind, file, ...head } = piece
  const body = { ...head, size: file.sizeBytes, sha256: file.sha256 }
  const ask = () => work.client.post('/v1/imports/datasets', { body })
  let { state } = await ask()
  if (state === 'needs_files') {
    await send(work, piece, file)
    state = (await ask()).state
  }
  return settled(piece, state)
}

async function importJob(work: Import, piece: JobPiece, { ids }: Moved): Promise<boolean> {
  const { installation, job_id: jobId, base_model: base, record, files } = piece
  const sent = files.map(({ name, sizeBytes: size, sha256 }) => ({ name, size, sha256 }))
  const head = { installation, job_id: jobId, base_model: base }
  const body = { ...head, record: { size: record.sizeBytes, sha256: record.sha256 }, files: sent }
  const ask = () => work.client.post('/v1/imports/jobs', { body })
  let answer = await ask()
  if (answer.state === 'needs_files') {
    for (const file of [record, ...files]) if (answer.needs.includes(file.name)) await send(work, piece, file)
    answer = await ask()
  }
  const isNew = settled(piece, answer.state)
  ids.push({ kind: 'job', old: String(jobId), new: String(answer.job_id) })
  if (piece.model_name !== null) {
    const name = answer.model_name
    ids.push({ kind: 'model', old: piece.model_name, new: name ?? '(deleted)' })
    // Somebody has deleted the model since an earlier import.
    const version = name === null ? '(deleted)' : await versionOf(work.client, name)
    if (piece.version !== null) ids.push({ kind: 'version', old: piece.version, new: version })
  }
  return isNew
}

async function versionOf(client: Client, modelName: string): Promise<string> {
  const { name, versions } = await client.get('/v1/models/:name', { params: { name: modelName } })
  const version = versions.find((each) => each.model_name === modelName)?.version
  return version == null ? '(none)' : `${name}@${version}`
}

/** An alias leads to the version that the model has here. */
async function importAlias({ client }: Import, { name, alias, version }: AliasPiece, { ids }: Moved): Promise<boolean> {
  const here = ids.find(({ kind, old }) => kind === 'version' && old === `${name}@${version}`)?.new
  const number = here?.slice(here.lastIndexOf('@') + 1)
  // The model of the alias was deleted since an earlier import.
  if (here === '(deleted)') return false
  if (!here || !number || !/^\d+$/.test(number)) throw new CommandError(`No imported model is ${name}@${version}.`)
  const params = { name, alias }
  const { aliases } = await client.get('/v1/models/:name', { params: { name }, query: { limit: '1' } })
  const there = aliases.find((each) => each.alias === alias)
  // An alias that somebody has moved since stays where it is.
  if (there) return false
  await client.put('/v1/models/:name/aliases/:alias', { params, body: { version: Number(number) } })
  return true
}

async function importEval({ client }: Import, piece: EvalPiece, { moved, evals }: Known): Promise<boolean> {
  const known = evals.get(textOf(piece))
  const id = known ?? (await client.post('/openai/v1/evals', { body: piece.body as never })).id
  evals.set(textOf(piece), id)
  moved.ids.push({ kind: 'eval', old: piece.id, new: id })
  return known === undefined
}

const textOf = ({ body }: Pick<EvalPiece, 'body'>) => JSON.stringify(body)

function settled(piece: Piece, state: 'done' | 'there' | 'needs_files'): boolean {
  if (state === 'needs_files')
    throw new CommandError(`The files of ${keyOf(piece)} did not arrive. Repeat the command.`)
  return state === 'done'
}

/** Uploads a file as the data set that the service looks for. */
async function send({ client, folder }: Import, piece: DataPiece | JobPiece, file: ArchivedFile): Promise<void> {
  const place = await client.post('/v1/data', { body: { dataset_id: `import-${file.sha256}` } })
  await client.upload(place.dataset_location, await openAsBlob(pathOf(folder, piece, file)))
}
