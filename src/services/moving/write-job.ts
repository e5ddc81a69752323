import type { DataReference, JobLine, LineOf, RecordLine } from '../../domain/job-record.ts'
import type { PreparedData, TrainingSpec } from '../../domain/training-job.ts'
import type { Repositories } from '../../repositories/database.ts'
import type { ImportedModel } from '../../repositories/imported-jobs.ts'
import type { Ctx } from '../context.ts'
import { readRecordLines } from './record-lines.ts'

type Job = {
  id: number
  line: JobLine
  model: ImportedModel | null
  record: AsyncIterable<Buffer>
  /** Count as those of the account in the database. */
  rowBytes: number
}

/** Lines of one statement. A line of an evaluation may be long. */
const linesAtOnce = { attempt: 200, step: 2000, event: 200, evaluation: 50 } as const satisfies Record<
  RecordLine['type'],
  number
>

/** Writes the rows of an imported job, from its checked record. */
export async function writeJob(ctx: Ctx, tx: Repositories, { id, line, model, record, rowBytes }: Job) {
  const { accountId, apiKeyId } = ctx
  const { datasetVersionId, spec } = await specOf(accountId, tx, line)
  const place = { id, accountId, apiKeyId }
  await tx.importedJobs.create(
    { ...place, line, datasetVersionId, spec, rowBytes, preparedData: preparedOf(line) },
    model,
  )
  for await (const lines of runsOf(readRecordLines(record))) await writeLines(tx, lines, { ...place, model })
  const message = `This job ran in the installation ${line.installation}, as job ${line.jobId}. It was imported as history: it never runs here and cannot be resumed.`
  const note = { kind: 'note', status: null, attempt: null, reason: 'imported', message } as const
  await tx.importedJobs.addEvents(id, [{ ...note, at: new Date(), actor: `key:${apiKeyId}` }])
  await tx.importedJobs.dropAnnouncements(id)
}

/** Consecutive lines of one type. */
async function* runsOf(lines: AsyncIterable<RecordLine>): AsyncGenerator<RecordLine[]> {
  let run: RecordLine[] = []
  for await (const line of lines) {
    if (run[0] && (run[0].type !== line.type || run.length === linesAtOnce[line.type])) {
      yield run
      run = []
    }
    run.push(line)
  }
  if (run.length > 0) yield run
}

type Of = { id: number; accountId: string; model: ImportedModel | null }

async function writeLines({ importedJobs }: Repositories, lines: RecordLine[], { id, accountId, model }: Of) {
  switch (lines[0]?.type) {
    case 'attempt':
      return importedJobs.addAttempts({ id, accountId }, ofType(lines, 'attempt'))
    case 'step':
      return importedJobs.addSteps(id, ofType(lines, 'step'))
    case 'event':
      return importedJobs.addEvents(
        id,
        ofType(lines, 'event').map(({ type: _type, actor, ...event }) => ({ ...event, actor: actorElsewhere(actor) })),
      )
    case 'evaluation':
      if (model) await importedJobs.addEvaluation(model.artifactId, ofType(lines, 'evaluation'))
      return
    case undefined:
  }
}

const elsewhere = 'imported:'

/** Nobody of this installation, whatever the record says. */
const actorElsewhere = (actor: string) => (actor.startsWith(elsewhere) ? actor : elsewhere + actor)

const ofType = <T extends RecordLine['type']>(lines: RecordLine[], type: T) =>
  lines.filter((line): line is LineOf<T> => line.type === type)

/** The spec with the rows and the models of this account in place of those that it named. */
async function specOf(accountId: string, tx: Repositories, line: JobLine) {
  const { spec, installation, data, sources, evaluationData } = line
  const first = await versionOf(accountId, tx, data)
  const rows = await Promise.all(
    (sources ?? []).map(async ({ datasetId, weight, data: reference }) => {
      const { id: versionId, uploadKey: dataKey } = await versionOf(accountId, tx, reference)
      return { datasetId, versionId, dataKey, weight }
    }),
  )
  const given = evaluationData === false ? null : await versionOf(accountId, tx, evaluationData)
  const { startFrom, ...kept } = spec
  const start = startFrom && (await tx.importedJobs.find(accountId, { installation, jobId: startFrom.jobId }))
  const checked = {
    ...kept,
    dataKey: first.uploadKey,
    ...(sources && { sources: rows }),
    evaluationKey: given?.uploadKey ?? null,
    // The files of the start are the start's own: no training reads them here.
    ...(startFrom && {
      startFrom: { modelName: start?.modelName ?? startFrom.modelName, jobId: start?.id ?? 0, files: [] },
    }),
  }
  // The record's schema has the fields of TrainingSpec; what it leaves open is only shown.
  return { datasetVersionId: first.id, spec: checked as unknown as TrainingSpec }
}

async function versionOf(accountId: string, tx: Repositories, reference: DataReference) {
  const found = reference && (await tx.jobRecords.version(accountId, reference.datasetId, reference.version))
  return found ?? tx.importedJobs.createDeletedVersion(accountId)
}

/** Without keys: the rows that the job had prepared stay where they were. */
function preparedOf({ preparedData: data }: JobLine): PreparedData | null {
  if (!data) return null
  const { train, evaluation, ...rest } = data
  const prepared = { ...rest, train: { ...train, key: '' }, evaluation: { ...evaluation, key: '' }, sourceEtag: '' }
  return prepared as PreparedData
}
