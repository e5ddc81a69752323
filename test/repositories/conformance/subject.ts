// The subject of a conformance case: an empty database whose clock and notifications the case controls.
import assert from 'node:assert/strict'
import { createHash, randomUUID } from 'node:crypto'
import { mock } from 'node:test'
import type { TrainingJob, TrainingSpec } from '../../../src/domain/training-job.ts'
import type { Database, Repositories } from '../../../src/repositories/database.ts'
import type { AcceptanceRequest } from '../../../src/repositories/job-acceptance.ts'

export type Subject = {
  database: Database
  /** Sets the clock of the database and that of this process. */
  setNow: (at: Date) => Promise<void>
  /** Notifications since the last call, each channel once. */
  heard: () => Promise<string[]>
}

/** By the guarantee that each checks. */
export type Cases = Record<string, (subject: Subject) => Promise<void>>

export const start = new Date('2026-01-01T00:00:00Z')
export const after = (seconds: number) => new Date(start.getTime() + seconds * 1000)

/** For `setNow`: from here on `new Date()` says the same. */
export function setProcessClock(at: Date) {
  mock.timers.reset()
  mock.timers.enable({ apis: ['Date'], now: at })
}

const spec = { args: {}, gpus: null, nodes: 1, dataKey: 'upload', evaluationKey: null } as unknown as TrainingSpec
export const hash = (text: string) => createHash('sha256').update(text).digest()

/** An account with an uploaded version of the data set "data". */
export async function openAccount({ accounts, datasets }: Repositories) {
  const { id: accountId } = await accounts.create('an account')
  const version = { id: randomUUID(), accountId, datasetId: 'data', version: 1, uploadKey: randomUUID() }
  await datasets.createVersion(version)
  return { accountId, version }
}

type Account = Awaited<ReturnType<typeof openAccount>>

export const acceptance = ({ accountId, version }: Account, changes: Partial<AcceptanceRequest> = {}) => ({
  job: {
    ...{ accountId, apiKeyId: 'a key', baseModel: 'a model', customModelName: 'a name', isPublic: true, spec },
    ...{ specHash: 'spec', resumeLimit: 3, notes: [] },
  },
  version: { id: version.id, uploadKey: version.uploadKey, wasSeen: true },
  idempotency: null,
  origin: { requestId: 'a request', address: 'an address' },
  person: { subject: 'ann', mail: 'ann@example.com' },
  ...changes,
})

export async function acceptJob(repositories: Repositories, account: Account): Promise<TrainingJob> {
  const accepted = await repositories.jobAcceptance.accept(acceptance(account), 100)
  assert.ok(accepted.outcome === 'accepted')
  return repositories.trainingJobs.get(accepted.jobId)
}

/** A job of the account, or of one of its own, with a first attempt. */
export async function openAttempt(repositories: Repositories, account?: Account) {
  const job = await acceptJob(repositories, account ?? (await openAccount(repositories)))
  return { job, ...(await openNext(repositories, job, 1)) }
}

export async function openNext(
  { attempts }: Repositories,
  job: TrainingJob,
  number: number,
  generation = 1,
  queuedAt: Date | null = null,
) {
  const id = randomUUID()
  const { id: jobId, accountId } = job
  const rest = { runName: `ft-${jobId}-a${number}`, tokenHash: hash(id), ordinal: number - 1, mode: 'train' as const }
  const attempt = await attempts.open({ id, jobId, accountId, number, generation, queuedAt, ...rest })
  return { attempt, position: { jobId, number }, tokenHash: hash(id) }
}

export const ended = { cause: 'killed', exitCode: 137, message: 'Killed.' } as const

/** The outbox, emptied: kind and payload of each message, in order. */
export async function takeMessages({ outbox }: Repositories) {
  const taken: [kind: string, payload: object][] = []
  for (;;) {
    const messages = (await outbox.claim(100)).toSorted((a, b) => Number(a.id - b.id))
    if (messages.length === 0) return taken
    for (const { id, kind, payload } of messages) {
      taken.push([kind, payload])
      await outbox.markDelivered(id)
    }
  }
}
