// Accepting a job, and the key that makes it one job.
import { broken } from '../breaks.ts'
import type { Doubles } from './doubles.ts'
import type { Row, Session } from './rows.ts'
import { isOpen } from './sql-training-jobs.ts'
import { insert, keyOf } from './tables.ts'

const day = 24 * 60 * 60_000

export const acceptanceDoubles: Doubles = {
  'claim idempotency key': [
    'fff0c519',
    async (session, [accountId, key, requestHash, seconds]) => {
      const name = keyOf('idempotencyKey', { accountId, key })
      await session.lock('idempotencyKey', name)
      const old = session.get('idempotencyKey', name)
      if (old && !mayTakeOver(old, requestHash, session.nowMs) && !broken.idempotencyKey) return 0
      const claimedUntil = new Date(session.nowMs + seconds * 1000)
      const createdAt = new Date(session.nowMs)
      session.put('idempotencyKey', name, { accountId, key, requestHash, response: null, createdAt, claimedUntil })
      return 1
    },
  ],

  'find idempotency key': [
    'dd07ec39',
    (session, [accountId, key]) => {
      const row = session.get('idempotencyKey', keyOf('idempotencyKey', { accountId, key }))
      const isLive = row && (row['response'] !== null || Number(row['claimedUntil']) >= session.nowMs)
      return Promise.resolve(isLive && Number(row['createdAt']) >= session.nowMs - day ? [row] : [])
    },
  ],

  'accept job': [
    'ffeb8e44',
    async (session, values) => {
      const request = requestOf(values as unknown[])
      const version = session.get('datasetVersion', String(request.versionId))
      const isMine = version?.['accountId'] === request.accountId && version?.['uploadKey'] === request.uploadKey
      const open = session.all('trainingJob', (row) => row['accountId'] === request.accountId && isOpen(row))
      const hasRoom = open.length < Number(request.maxOpen)
      const answer = { jobId: null, datasetId: null, hasRoom, isSeen: null }
      if (!version || !isMine) return [answer]
      const isSeen = request.wasSeen === true || version['usedAt'] !== null || version['sizeBytes'] !== null
      const seen = { ...answer, datasetId: version['datasetId'], isSeen }
      if (!hasRoom || !isSeen) return [seen]
      const jobId = session.next('trainingJob')
      if (!(await takeKey(session, request, { jobId, status: 'CREATED', datasetId: version['datasetId'] })))
        return [seen]
      await addJob(session, jobId, request, version)
      return [{ ...seen, jobId }]
    },
  ],
}

const mayTakeOver = (old: Row, requestHash: Uint8Array, nowMs: number) =>
  Number(old['createdAt']) < nowMs - day ||
  (old['response'] === null &&
    Number(old['claimedUntil']) < nowMs &&
    Buffer.compare(old['requestHash'] as Uint8Array, requestHash) === 0)

type Request = ReturnType<typeof requestOf>

/** In the order of the statement's parameters. */
function requestOf(values: unknown[]) {
  const [accountId, apiKeyId, versionId, uploadKey, , wasSeen, , maxOpen, key, requestHash] = values
  const [baseModel, customModelName, isPublic, spec, specHash, resumeLimit, codes, messages] = values.slice(10)
  const job = { baseModel, customModelName, isPublic, spec: JSON.parse(String(spec)) as unknown, specHash, resumeLimit }
  const notes = (codes as string[]).map((reason, index) => ({ reason, message: (messages as string[])[index] }))
  return {
    ...{ accountId, apiKeyId, versionId, uploadKey, wasSeen, maxOpen, key, requestHash },
    ...{ job, notes, usedIds: values[20] as string[] },
  }
}

async function takeKey(session: Session, { accountId, key, requestHash }: Request, response: Row) {
  if (key === null) return true
  const name = keyOf('idempotencyKey', { accountId, key })
  await session.lock('idempotencyKey', name)
  const old = session.get('idempotencyKey', name)
  if (old && !mayTakeOver(old, requestHash as Uint8Array, session.nowMs) && !broken.idempotencyKey) return false
  const now = new Date(session.nowMs)
  session.put('idempotencyKey', name, { accountId, key, requestHash, createdAt: now, claimedUntil: now, response })
  return true
}

async function addJob(session: Session, id: number, { accountId, apiKeyId, job, notes, usedIds }: Request, of: Row) {
  session.put('trainingJob', String(id), {
    ...{ id, accountId, apiKeyId, datasetVersionId: of['id'], datasetId: of['datasetId'], ...job },
    ...{ status: 'CREATED', statusReason: null, statusMessage: null, preparedData: null, generation: 1 },
    ...{ currentAttempt: 0, resumeCount: 0, cancelRequestedAt: null, pauseRequestedAt: null, modelName: null },
    ...{ createdAt: new Date(session.nowMs), finishedAt: null },
  })
  const now = new Date(session.nowMs)
  const isFresh = (row: Row) => usedIds.includes(String(row['id'])) && row['usedAt'] === null
  await session.update('datasetVersion', isFresh, (row) => ({ ...row, usedAt: now }))
  const actor = `key:${String(apiKeyId)}`
  await insert(session, 'jobEvent', { jobId: id, kind: 'status', status: 'CREATED', actor })
  for (const note of notes) await insert(session, 'jobEvent', { jobId: id, kind: 'note', actor: 'api', ...note })
  const message = { workflowId: `fine-tune-${id}`, kind: 'start', generation: 1, payload: { jobId: id } }
  await insert(session, 'outboxMessage', message)
  session.notified.add('outbox')
}
