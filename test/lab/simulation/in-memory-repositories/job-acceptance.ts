import { fineTuneWorkflowId } from '../../../../src/domain/identifiers.ts'
import { isTerminal } from '../../../../src/domain/training-job-status.ts'
import { hiddenDatasets } from '../../../../src/repositories/dataset-statements.ts'
import type { AcceptanceRequest } from '../../../../src/repositories/job-acceptance.ts'
import { wasSeen } from './accounts.ts'
import type { Connection, InMemory } from './database.ts'
import { mayTakeOver } from './idempotency-keys.ts'
import { addMessages } from './outbox.ts'
import { addEvents } from './training-jobs.ts'
import type { Rows } from './tables.ts'
import type { Transaction } from './transactions.ts'

export const jobAcceptance = (db: Connection): InMemory<'jobAcceptance'> => ({
  accept: (request, maxOpen) =>
    db.run('jobAcceptance.accept', async (tx) => {
      const { accountId } = request.job
      const open = tx.all('trainingJob', (job) => job.accountId === accountId && !isTerminal(job.status))
      if (open.length >= maxOpen) return { outcome: 'no_room' }
      const version = findVersion(tx, request)
      if (!version) return { outcome: 'no_data' }
      const { datasetId } = version
      if (!request.version.wasSeen && !wasSeen(version)) return { outcome: 'unseen', datasetId }
      const jobId = tx.next('trainingJob')
      const warnings = request.job.notes.map(({ message }) => message)
      const answer = { jobId, status: 'CREATED', datasetId, warnings }
      if (!(await takeKey(tx, request, answer))) return { outcome: 'key_taken' }
      await addJob(tx, jobId, request, datasetId)
      return { outcome: 'accepted', jobId, datasetId }
    }),
})

function findVersion(tx: Transaction, { job, version }: AcceptanceRequest): Rows['datasetVersion'] | null {
  const row = tx.get('datasetVersion', version.id)
  const isIt = row?.accountId === job.accountId && row.uploadKey === version.uploadKey
  const isNamed = version.datasetId === undefined || row?.datasetId === version.datasetId
  return isIt && isNamed && !row.datasetId.startsWith(hiddenDatasets) ? row : null
}

async function takeKey(tx: Transaction, { job: { accountId }, idempotency }: AcceptanceRequest, response: object) {
  if (!idempotency) return true
  const { key, requestHash } = idempotency
  await tx.lock('idempotencyKey', accountId, key)
  const old = tx.get('idempotencyKey', accountId, key)
  if (old && !mayTakeOver(old, requestHash, tx.now)) return false
  tx.put('idempotencyKey', { accountId, key, requestHash, response, createdAt: tx.now, claimedUntil: tx.now })
  return true
}

async function addJob(tx: Transaction, id: number, request: AcceptanceRequest, datasetId: string) {
  const { job, version, otherVersionIds = [] } = request
  const { notes, apiKeyId, ...rest } = job
  tx.put('trainingJob', {
    ...{ ...rest, id, apiKeyId, datasetId, datasetVersionId: version.id },
    ...{ status: 'CREATED', statusReason: null, statusMessage: null, preparedData: null, generation: 1 },
    ...{
      currentAttempt: 0,
      resumeCount: 0,
      cancelRequestedAt: null,
      pauseRequestedAt: null,
      modelName: null,
      importedJobId: null,
    },
    ...{ createdAt: tx.now, finishedAt: null },
  })
  const used = [version.id, ...otherVersionIds]
  await tx.update(
    'datasetVersion',
    (row) => used.includes(row.id) && row.usedAt === null,
    () => ({ usedAt: tx.now }),
  )
  addEvents(
    tx,
    id,
    { kind: 'status', status: 'CREATED', actor: `key:${apiKeyId}` },
    ...notes.map(({ code: reason, message }) => ({ kind: 'note' as const, actor: 'api', reason, message })),
  )
  addMessages(tx, { workflowId: fineTuneWorkflowId(id), kind: 'start', generation: 1, payload: { jobId: id } })
  tx.notify('outbox')
}
