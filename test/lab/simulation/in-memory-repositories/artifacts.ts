import type { Connection, InMemory } from './database.ts'
import { DatabaseError, type Transaction } from './transactions.ts'
import type { Rows } from './tables.ts'
import type { ArtifactKind } from '../../../../src/domain/training-job.ts'

export const artifacts = (db: Connection): InMemory<'artifacts'> => ({
  create: (artifact) =>
    db.run('artifacts.create', async (tx) => {
      const empty = { createdAt: tx.now, committedAt: null, verifiedAt: null, corruptAt: null }
      await tx.insert('artifact', { ...artifact, ...empty })
    }),

  find: (jobId, id) =>
    db.run('artifacts.find', (tx) => {
      const row = tx.get('artifact', id)
      return row?.jobId === jobId ? plain(row) : null
    }),

  commit: (id) =>
    db.run('artifacts.commit', async (tx) => {
      const isIt = (row: Rows['artifact']) => row.id === id && row.committedAt === null
      return (await tx.update('artifact', isIt, () => ({ committedAt: tx.now }))).length === 1
    }),

  markVerified: (id) => mark(db, id, 'verifiedAt'),
  markCorrupt: (id) => mark(db, id, 'corruptAt'),

  listUsable: (jobId: number, kind: ArtifactKind, limit?: number) =>
    db.run('artifacts.listUsable', (tx) => listUsable(tx, jobId, kind).slice(0, limit ?? 10)),

  newestModel: (jobId) => db.run('artifacts.newestModel', (tx) => listUsable(tx, jobId, 'model')[0] ?? null),

  async replaceEvaluation(artifactId, rows) {
    await db.run('artifacts.replaceEvaluation, delete', (tx) =>
      tx.delete('evaluation', (row) => row.artifactId === artifactId),
    )
    await db.run('artifacts.replaceEvaluation, insert', async (tx) => {
      for (const [index, row] of rows.entries()) await tx.insert('evaluation', { ...row, artifactId, index })
    })
  },

  listEvaluation: (artifactId) =>
    db.run('artifacts.listEvaluation', (tx) =>
      tx
        .all('evaluation', (row) => row.artifactId === artifactId)
        .toSorted((a, b) => a.index - b.index)
        .map(({ artifactId: _artifactId, index: _index, ...row }) => row),
    ),

  isEvaluated: (artifactId) =>
    db.run('artifacts.isEvaluated', (tx) => tx.find('evaluation', (row) => row.artifactId === artifactId) !== null),
})

export const models = (db: Connection): InMemory<'models'> => ({
  find: (accountId, name) =>
    db.run('models.find', (tx) => {
      const model = tx.get('model', name)
      if (model?.accountId !== accountId) return null
      return { ...model, learned: tx.get('trainingJob', model.jobId)?.preparedData?.learned ?? null }
    }),

  jobOf: (name) => db.run('models.jobOf', (tx) => tx.get('model', name)?.jobId ?? null),

  publish: (model) =>
    db.run('models.publish', async (tx) => {
      await tx.insert('model', { ...model, createdAt: tx.now }).catch((error: unknown) => {
        if (!(error instanceof DatabaseError && error.code === 'P2002')) throw error
      })
    }),
})

/** The real repository also takes the time from the process. */
function mark(db: Connection, id: string, field: 'verifiedAt' | 'corruptAt') {
  const at = new Date()
  return db.run(`artifacts.${field}`, async (tx) => {
    await tx.updateOne(
      'artifact',
      (row) => row.id === id,
      () => ({ [field]: at }),
    )
  })
}

const listUsable = (tx: Transaction, jobId: number, kind: ArtifactKind) =>
  tx
    .all(
      'artifact',
      (row) => row.jobId === jobId && row.kind === kind && row.committedAt !== null && row.corruptAt === null,
    )
    .toSorted((a, b) => b.step - a.step || Number(b.committedAt) - Number(a.committedAt))
    .map(plain)

const plain = ({ corruptAt: _corruptAt, ...artifact }: Rows['artifact']) => artifact
