// `anneal export` writes the pieces of an account. Every piece is there whole before the journal names it, so a repeat goes on where it was.
import { createWriteStream, mkdirSync, renameSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { Readable } from 'node:stream'
import { pipeline } from 'node:stream/promises'
import type { Client } from '../client.ts'
import { downloadFiles, fetchWhole } from '../download-files.ts'
import type { Answer } from '../operations.ts'
import {
  archiveFormat,
  describeFile,
  isWhole,
  keyOf,
  openArchive,
  pathOf,
  type AliasPiece,
  type ArchivedFile,
  type DataPiece,
  type EvalPiece,
  type JobPiece,
  type Manifest,
  type Piece,
} from './archive.ts'

type Model = Answer<'get', '/v1/models'>['data'][number]
type Export = {
  client: Client
  folder: string
  archive: ReturnType<typeof openArchive>
  models: Map<string, Model>
  say: (line: string) => void
  signal: AbortSignal
}

const pageSize = '100'

export async function exportAccount(about: Omit<Export, 'archive' | 'models'>): Promise<Manifest> {
  const { client, folder } = about
  // All that is written here is for its owner alone, also in a folder that was there before.
  process.umask(0o077)
  const archive = openArchive(folder)
  const { data } = await client.get('/v1/models')
  const models = new Map(data.filter(({ owned_by: owner }) => owner === 'account').map((model) => [model.id, model]))
  const work = { ...about, archive, models }
  const notMoved: string[] = []
  const pieces: Piece[] = [
    ...(await exportData(work, notMoved)),
    ...(await exportJobs(work, notMoved)),
    ...(await aliasesOf(work)),
    ...(await evalsOf(client)),
  ]
  const counts = { data: 0, job: 0, alias: 0, eval: 0, models: 0 }
  for (const piece of pieces) {
    counts[piece.kind] += 1
    if (piece.kind === 'job' && piece.model_name !== null) counts.models += 1
  }
  notMoved.push(...(await othersOf(client)))
  const at = new Date().toISOString()
  const manifest = { format: archiveFormat, exported_at: at, counts, not_moved: notMoved, pieces }
  archive.finish(manifest)
  return manifest
}

async function exportData(work: Export, notMoved: string[]): Promise<DataPiece[]> {
  const pieces: DataPiece[] = []
  for await (const { dataset_id: datasetId } of datasets(work.client)) {
    if (/^import-[0-9a-f]{64}$/.test(datasetId)) continue
    for (const version of await versionsOf(work.client, datasetId)) {
      const piece = await exportVersion(work, datasetId, version)
      if (piece) pieces.push(piece)
      else notMoved.push(`version ${version} of the data set ${datasetId}: nothing was uploaded, or the rows are gone`)
    }
  }
  return pieces
}

async function* datasets(client: Client) {
  for (let after: string | undefined; ;) {
    const page = await client.get('/v1/data', { query: { after, limit: pageSize } })
    yield* page.datasets
    if (page.next === null) return
    after = page.next
  }
}

/** Oldest first: a later version is never there without the earlier ones. */
async function versionsOf(client: Client, datasetId: string): Promise<number[]> {
  const versions: number[] = []
  for (let after: string | undefined; ;) {
    const request = { params: { dataset_id: datasetId }, query: { after, limit: pageSize } }
    const page = await client.get('/v1/data/:dataset_id/versions', request)
    versions.push(...page.versions.map(({ version }) => version))
    if (page.next === null) return versions.toReversed()
    after = String(page.next)
  }
}

async function exportVersion(work: Export, datasetId: string, version: number): Promise<DataPiece | null> {
  const { client, folder, archive, say, signal } = work
  const ask = () =>
    client.get('/v1/data/:dataset_id/versions/:version', {
      params: { dataset_id: datasetId, version: String(version) },
    })
  const { url, size, expires_in: _seconds, ...kept } = await ask()
  if (url === null || size === null) return null
  const head = { kind: 'data' as const, ...kept }
  const name = String(version)
  const known = archive.find<DataPiece>(keyOf({ ...head, file: { name, sizeBytes: 0, sha256: '' } }))
  const isSame = known?.file.sizeBytes === size && known.created_at === kept.created_at
  if (isSame && (await isWhole(pathOf(folder, known, known.file), known.file))) {
    const piece = { ...head, file: known.file }
    archive.add(piece)
    return piece
  }
  say(`data set ${datasetId}, version ${version}: ${size} bytes`)
  const path = join(folder, 'data', datasetId, name)
  await fetchWhole(path, { sizeBytes: size, linkOf: async () => (await ask()).url ?? url, signal })
  const described = await describeFile(path)
  if (!described) return null
  const piece = { ...head, file: { name, ...described } }
  archive.add(piece)
  return piece
}

type Brief = Answer<'get', '/v1/train/jobs/briefs'>['jobs'][number]

async function exportJobs(work: Export, notMoved: string[]): Promise<JobPiece[]> {
  const pieces: JobPiece[] = []
  const briefs = await Array.fromAsync(briefsOf(work.client))
  // Oldest first, so that a job which continues a model finds it.
  for (const brief of briefs.toSorted((a, b) => a.job_id - b.job_id))
    if (brief.finished_at === null)
      notMoved.push(`job ${brief.job_id}: it is ${brief.status}; wait until it ends, or cancel it, and export again`)
    else pieces.push(await exportJob(work, brief))
  return pieces
}

async function* briefsOf(client: Client): AsyncGenerator<Brief> {
  for (let after: string | undefined; ;) {
    const page = await client.get('/v1/train/jobs/briefs', { query: { after, limit: pageSize } })
    yield* page.jobs
    if (page.next === null) return
    after = page.next
  }
}

async function exportJob(work: Export, brief: Brief): Promise<JobPiece> {
  const { folder, archive, say } = work
  const state = [brief.status, brief.finished_at, brief.resume_count, brief.model_name].join(' ')
  const known = archive.find<JobPiece>(`job ${brief.job_id}`)
  if (known?.state === state && (await isJobWhole(folder, known))) return known
  say(`job ${brief.job_id}: ${brief.display_name}, ${brief.status}`)
  const path = join(folder, 'jobs', String(brief.job_id), 'record.jsonl')
  const first = await readRecord(work, brief.job_id, path)
  const files = first.model ? await exportAdapter(work, brief.job_id, first.model) : []
  const record = { name: 'record.jsonl', ...((await describeFile(path)) ?? { sizeBytes: 0, sha256: '' }) }
  const version = first.model?.version ? `${first.customModelName}@${first.model.version}` : null
  const piece: JobPiece = {
    ...{ kind: 'job', job_id: brief.job_id, installation: first.installation, base_model: brief.base_model, state },
    ...{ record, model_name: first.model?.name ?? null, version, files },
  }
  archive.add(piece)
  return piece
}

async function isJobWhole(folder: string, piece: JobPiece): Promise<boolean> {
  for (const file of [piece.record, ...piece.files])
    if (!(await isWhole(pathOf(folder, piece, file), file))) return false
  return true
}

/** An export reads these fields of the first line of a record. */
type FirstLine = {
  installation: string
  customModelName: string | null
  model: { name: string; version: number | null; files: ArchivedFile[] } | null
}

async function readRecord({ client, signal }: Export, jobId: number, path: string): Promise<FirstLine> {
  mkdirSync(dirname(path), { recursive: true, mode: 0o700 })
  const text = client.read('/v1/train/jobs/:job_id/record', { params: { job_id: String(jobId) } })
  let first = ''
  const noted = async function* () {
    for await (const piece of text) {
      if (!first.includes('\n')) first += piece
      yield piece
    }
  }
  await pipeline(Readable.from(noted()), createWriteStream(`${path}.part`, { mode: 0o600 }), { signal })
  renameSync(`${path}.part`, path)
  return JSON.parse(first.slice(0, first.indexOf('\n'))) as FirstLine
}

async function exportAdapter(
  { client, folder, say, signal }: Export,
  jobId: number,
  { name, files }: NonNullable<FirstLine['model']>,
): Promise<ArchivedFile[]> {
  const linksOf = async () => {
    const { files: links } = await client.get('/v1/models/:name/download', { params: { name } })
    return links
      .filter((link) => files.some((file) => file.name === link.name))
      .map(({ size, ...link }) => ({ ...link, sizeBytes: size }))
  }
  const target = join(folder, 'jobs', String(jobId))
  await downloadFiles({ folder: target, linksOf, isEarlier: () => true, say, signal })
  return files
}

async function aliasesOf({ client, models }: Export): Promise<AliasPiece[]> {
  const names = new Set(
    [...models.values()].flatMap(({ aliases }) => aliases.map((each) => each.slice(0, each.lastIndexOf('@')))),
  )
  const pieces: AliasPiece[] = []
  for (const name of names) {
    const { aliases } = await client.get('/v1/models/:name', { params: { name }, query: { limit: '1' } })
    pieces.push(...aliases.map(({ alias, version }) => ({ kind: 'alias' as const, name, alias, version })))
  }
  return pieces
}

export async function evalsOf(client: Client): Promise<EvalPiece[]> {
  const pieces: EvalPiece[] = []
  for (let after: string | undefined; ;) {
    const { data, has_more: hasMore } = await client.get('/openai/v1/evals', { query: { after, limit: pageSize } })
    pieces.push(...data.map(evalPiece))
    after = data.at(-1)?.id
    if (!hasMore || after === undefined) return pieces
  }
}

/** An eval as a request makes it. */
function evalPiece({ id, name, data_source_config: config, testing_criteria: criteria, metadata }: Eval): EvalPiece {
  const { item, sample } = (config.schema as { properties: Record<'item' | 'sample', object | undefined> }).properties
  const source = { type: 'custom', item_schema: item, include_sample_schema: sample !== undefined }
  return { kind: 'eval', id, body: { name, metadata, data_source_config: source, testing_criteria: criteria } }
}
type Eval = Answer<'get', '/openai/v1/evals'>['data'][number]

/** Things of the account that stay, in a sentence each. */
async function othersOf(client: Client): Promise<string[]> {
  const { webhooks } = await client.get('/v1/webhooks')
  return [
    ...webhooks.map(
      ({ url }) =>
        `the webhook to ${new URL(url).origin}: create it anew, because its secret is made by each installation`,
    ),
    'API keys, stored rows, batches, evaluations and runs of evals, stored responses, usage, checkpoints, samples and logs: docs/moving.md says why',
  ]
}
