// Turns an upload into the data of one job: copies it, validates every row, sets evaluation rows aside, and writes the rows to
// keys that no issued URL can write. A job of several data sets has the rows of all in one file.
import { randomUUID } from 'node:crypto'
import type { NamedReport, PreparedSource } from '../domain/data-sources.ts'
import {
  judgementProblem,
  rowReader,
  trainingDataName,
  trainingDataProblem,
  type Columns,
  type DatasetReport,
} from '../domain/dataset-report.ts'
import { storageKeys } from '../domain/storage-keys.ts'
import { itemNeedsOf } from '../domain/reward-task.ts'
import type { PreparedData, TrainingSpec } from '../domain/training-job.ts'
import { methodNameOf } from '../domain/training-method.ts'
import type { Storage } from '../storage/storage.ts'
import { DatasetInvalidError } from './dataset-invalid-error.ts'
import { createLimitWatch, type DatasetLimits } from './dataset-limits.ts'
import type { DatasetRow } from './dataset-row.ts'
import { createFormCount, createSystemMessageVote } from './learned-form.ts'
import { createEvaluationSelection, selectedOf } from './select-evaluation-rows.ts'
import { openRows, splitRows, type SourceRows, type Work } from './split-rows.ts'
import type { Tokenizers } from './token-sample.ts'
import { validateRows } from './validate-rows.ts'

export type DataOfJob = {
  jobId: number
  spec: Pick<TrainingSpec, 'dataKey' | 'evaluationKey' | 'baseModel' | 'skipBadRows' | 'method' | 'sources'>
  /** The columns of each data set, in the order of the job's data sets. */
  columns: (Columns | null)[]
  evaluationColumns: Columns | null
}
/** `reports`: on each data set. `evaluation`: on the caller's evaluation rows. */
export type CheckedData = { prepared: PreparedData; reports: NamedReport[]; evaluation: DatasetReport | null }

type PrepareSettings = { limits: DatasetLimits; tokenizers: Tokenizers }

/**
 * May run twice: each call writes under its own keys.
 * @throws DatasetInvalidError
 */
export async function prepareData(
  storage: Storage,
  { jobId, spec, columns, evaluationColumns }: DataOfJob,
  settings: PrepareSettings,
): Promise<CheckedData> {
  const { limits } = settings
  const needs = spec.method?.task ? itemNeedsOf(spec.method.task) : []
  const work: Work = { storage, limits, watch: createLimitWatch(limits), method: methodNameOf(spec), needs }
  const unique = randomUUID()
  const key = (name: string) => storageKeys.prepared(jobId, unique, name)
  const sources = sourcesIn(spec, columns, key)
  try {
    const checked = await checkSources(work, { sources, spec, settings })
    const { evaluationKey } = spec
    const { files, evaluation, counts } = await splitRows(work, {
      sources,
      setAside: evaluationKey === null ? checked.selected() : new Set<string>(),
      given: evaluationKey === null ? null : { key: evaluationKey, columns: evaluationColumns },
      hasBadRows: checked.reports.some(({ badRowCount }) => badRowCount > 0),
      key,
      use: checked.confirm,
    })
    const { reports } = checked
    const read = {
      ...{ sourceEtag: reports.map(({ etag }) => etag).join(' '), reader: rowReader },
      ...(columns[0] && !spec.sources && { columns: columns[0] }),
      ...(spec.sources && { sources: reports.map((report, index) => preparedSource(report, counts[index])) }),
      ...(spec.method && { method: work.method }),
    }
    const learned = checked.learned()
    return { prepared: { ...files, ...read, ...(learned && { learned }) }, reports, evaluation }
  } finally {
    await storage.remove(sources.map(({ pinned }) => pinned))
  }
}

type Source = SourceRows & { from: string }

function sourcesIn(
  { dataKey, sources }: DataOfJob['spec'],
  columns: DataOfJob['columns'],
  key: (name: string) => string,
): Source[] {
  if (!sources) return [{ from: dataKey, pinned: key('source'), columns: columns[0] ?? null, set: null }]
  return sources.map(({ dataKey: from, datasetId: name }, number) => ({
    from,
    pinned: key(`source-${number}`),
    columns: columns[number] ?? null,
    set: { number, name },
  }))
}

type CheckInput = { sources: readonly Source[]; spec: DataOfJob['spec']; settings: PrepareSettings }

/** Copies and reads every data set. @throws DatasetInvalidError with the report on the first that cannot be used */
async function checkSources(work: Work, { sources, spec, settings: { tokenizers } }: CheckInput) {
  const { storage, limits, watch, method, needs } = work
  const isSkipping = spec.skipBadRows ?? false
  const [systemMessages, forms] = [createSystemMessageVote(), createFormCount()]
  const selections = sources.map(() => createEvaluationSelection())
  const reports: NamedReport[] = []
  for (const [index, { from, pinned, columns, set }] of sources.entries()) {
    const named = set ? { set: set.name } : {}
    const name = trainingDataName(named)
    const uploaded = await pin(storage, { from, to: pinned, name: set ? name : 'uploaded data set' })
    const rows = await validateRows(await openRows(storage, pinned, name), {
      ...{ limits, watch, columns, method, needs, isSkipping },
      use(row, print) {
        selections[index]?.add(print)
        systemMessages.add(row)
        forms.add(row)
      },
    })
    const report = { ...rows.report(uploaded, { model: spec.baseModel.name, tokenizers }), ...named }
    const problem = trainingDataProblem(report, { isSkipping })
    if (problem !== null) throw new DatasetInvalidError(problem, report)
    reports.push(report)
  }
  const problem = judgementProblem(reports)
  if (problem !== null) throw new DatasetInvalidError(problem, reports[0])
  return {
    reports,
    selected: () => selectedOf(selections),
    /** Takes each row once more, for the system message. */
    confirm: (row: DatasetRow) => systemMessages.confirm(row),
    learned() {
      const form = forms.form()
      return form && { form, systemMessage: systemMessages.winner() }
    },
  }
}

/** The account's URL can still write to the upload, so only the copy is used. @returns what was copied */
async function pin(storage: Storage, { from, to, name }: { from: string; to: string; name: string }) {
  for (;;) {
    const before = await storage.stat(from)
    if (!before) throw new DatasetInvalidError(`The ${name} no longer exists: upload it again.`)
    await storage.copy(from, to)
    if ((await storage.stat(from))?.etag === before.etag) return before
  }
}

function preparedSource(
  report: NamedReport,
  counts: Pick<PreparedSource, 'trainRows' | 'heldOutRows'> | undefined,
): PreparedSource {
  const { rowCount, etag, columns, tokenLength } = report
  return {
    ...{ rowCount, etag, trainRows: counts?.trainRows ?? 0, heldOutRows: counts?.heldOutRows ?? 0 },
    tokens: tokenLength?.estimatedTotal ?? null,
    ...(columns && { columns }),
  }
}
