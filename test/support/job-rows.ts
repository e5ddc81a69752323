// Rows of jobs that nobody runs, for work in a transaction that is rolled back.
import assert from 'node:assert/strict'
import { randomUUID } from 'node:crypto'
import { makeApiKey, parseApiKey, sha256 } from '../../src/domain/identifiers.ts'
import type { TrainingSpec } from '../../src/domain/training-job.ts'
import type { Repositories } from '../../src/repositories/database.ts'

/** @returns its id */
export async function anAccount(tx: Repositories): Promise<string> {
  const key = parseApiKey(makeApiKey()) ?? assert.fail()
  await tx.accounts.ensureWithApiKey({ name: 'rows', keyId: key.id, secretHash: key.secretHash })
  return (await tx.accounts.findLiveApiKey(key.id))?.accountId ?? assert.fail('no account')
}

/** @param versionId an existing version; without it the job gets one of its own */
export async function openJob(
  tx: Repositories,
  accountId: string,
  spec = {} as TrainingSpec,
  versionId?: string,
  customModelName: string | null = null,
) {
  const id = versionId ?? randomUUID()
  if (versionId === undefined)
    await tx.datasets.createVersion({ id, accountId, datasetId: id, version: 1, uploadKey: id })
  const job = { accountId, apiKeyId: 'none', baseModel: 'm', customModelName, isPublic: false, resumeLimit: 1 }
  const accepted = await tx.jobAcceptance.accept(
    {
      job: { ...job, spec, specHash: 'h', notes: [] },
      version: { id, uploadKey: id, wasSeen: true },
      idempotency: null,
      origin: { requestId: 'none', address: '' },
      person: null,
    },
    1000,
  )
  assert.ok(accepted.outcome === 'accepted')
  return tx.trainingJobs.get(accepted.jobId)
}

let opened = 0

export async function openAttempt(tx: Repositories, accountId: string, number = 1, jobId?: number) {
  const job = jobId ?? (await openJob(tx, accountId)).id
  const token = randomUUID()
  const attempt = await tx.attempts.open({
    // In one transaction all are of one instant: the order of their ids is that of their age.
    id: (++opened).toString(16).padStart(8, '0') + randomUUID().slice(8),
    jobId: job,
    number,
    generation: 1,
    ordinal: number - 1,
    accountId,
    mode: 'train',
    runName: `ft-${job}-a${number}`,
    tokenHash: sha256(token),
  })
  return { ...attempt, tokenHash: sha256(token) }
}
