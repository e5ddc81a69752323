// An account, its data sets and its audit trail.
import { randomUUID } from 'node:crypto'
import type { Priority } from '../../../../src/domain/priority.ts'
import { isTerminal } from '../../../../src/domain/training-job-status.ts'
import { hiddenDatasets } from '../../../../src/repositories/dataset-statements.ts'
import type { Connection, InMemory } from './database.ts'
import type { Rows } from './tables.ts'
import type { Transaction } from './transactions.ts'

export const accounts = (db: Connection): InMemory<'accounts'> => ({
  create: (name: string, priority?: Priority) =>
    db.run('accounts.create', (tx) =>
      tx.insert('account', { id: randomUUID(), name, priority: priority ?? 'normal', createdAt: tx.now }),
    ),

  find: (id) => db.run('accounts.find', (tx) => tx.get('account', id)),

  storedBytes: (accountId) => db.run('accounts.storedBytes', (tx) => storedBytes(tx, accountId)),

  hold: (id) => db.run('accounts.hold', (tx) => tx.lock('account', id)),

  hasOpenJobs: (accountId, count) =>
    db.run(
      'accounts.hasOpenJobs',
      (tx) => tx.all('trainingJob', (job) => job.accountId === accountId && !isTerminal(job.status)).length >= count,
    ),
})

/** Nothing reads the trail here. */
export const auditEvents = (db: Connection): InMemory<'auditEvents'> => ({
  add: () => db.run('auditEvents.add', () => undefined),
})

export const datasets = (db: Connection): InMemory<'datasets'> => ({
  createVersion: (version) =>
    db.run('datasets.createVersion', async (tx) => {
      const empty = { usedAt: null, announcedRows: null, sizeBytes: null, report: null }
      return plainVersion(await tx.insert('datasetVersion', { ...version, ...empty }))
    }),

  findVersion: (accountId, id) =>
    db.run('datasets.findVersion', (tx) => {
      const row = tx.get('datasetVersion', id)
      if (row?.accountId !== accountId || row.datasetId.startsWith(hiddenDatasets)) return null
      return { ...plainVersion(row), wasSeen: wasSeen(row) }
    }),

  noteSize: (id, sizeBytes) =>
    db.run('datasets.noteSize', async (tx) => {
      await tx.update(
        'datasetVersion',
        (row) => row.id === id && !row.datasetId.startsWith(hiddenDatasets),
        () => ({ sizeBytes }),
      )
    }),

  saveReport: (id, report) =>
    db.run('datasets.saveReport', async (tx) => {
      await tx.update(
        'datasetVersion',
        (row) => row.id === id,
        () => ({ report }),
      )
    }),

  report: (id) => db.run('datasets.report', (tx) => tx.get('datasetVersion', id)?.report ?? null),

  /** Nothing here names columns. */
  columns: () => db.run('datasets.columns', () => null),
})

/** As the triggers of the migration `stored_bytes` count. */
function storedBytes(tx: Transaction, accountId: string): number {
  const isOurs = (row: { accountId: string }) => row.accountId === accountId
  const jobs = tx.all('trainingJob', isOurs)
  const ids = new Set(jobs.map(({ id }) => id))
  const prepared = jobs.flatMap(({ id, preparedData: data }) =>
    data?.train.key.startsWith(`jobs/${id}/`) ? [data.train, data.evaluation, ...(data.skipped ? [data.skipped] : [])] : [],
  )
  const files = [...tx.all('artifact', ({ jobId }) => ids.has(jobId)), ...tx.all('model', isOurs)]
  const sizes = [...tx.all('datasetVersion', isOurs), ...prepared, ...files.flatMap((row) => row.files)]
  return sizes.reduce((sum, { sizeBytes }) => sum + (sizeBytes ?? 0), 0)
}

export const wasSeen = ({ usedAt, sizeBytes }: Rows['datasetVersion']) => usedAt !== null || sizeBytes !== null

const plainVersion = ({ sizeBytes: _sizeBytes, report: _report, ...version }: Rows['datasetVersion']) => version
