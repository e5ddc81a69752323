// The tables behind the in-memory repositories: what their rows hold and which keys are unique.
import type { DatasetReport } from '../../../../src/domain/dataset-report.ts'
import type { Artifact, Attempt, EvaluationRow, JobEvent, TrainingJob } from '../../../../src/domain/training-job.ts'
import type { TunedModel } from '../../../../src/domain/training-job.ts'
import type { TrainingStep } from '../../../../src/domain/training-step.ts'
import type { Account } from '../../../../src/repositories/accounts.ts'
import type { DatasetVersion } from '../../../../src/repositories/datasets.ts'
import type { OutboxMessage } from '../../../../src/repositories/outbox.ts'

export type Rows = {
  account: Account
  artifact: Artifact & { corruptAt: Date | null }
  attempt: Attempt & { tokenHash: Uint8Array; queuedAt: Date | null }
  datasetVersion: DatasetVersion & { sizeBytes: number | null; report: DatasetReport | null }
  evaluation: EvaluationRow & { artifactId: string; index: number }
  idempotencyKey: {
    accountId: string
    key: string
    requestHash: Uint8Array
    response: unknown
    createdAt: Date
    claimedUntil: Date
  }
  jobEvent: Omit<JobEvent, 'id'> & { id: bigint; jobId: number }
  model: TunedModel
  outboxMessage: OutboxMessage & {
    id: bigint
    createdAt: Date
    claimedUntil: Date
    deliveryCount: number
    lastError: string | null
    deliveredAt: Date | null
  }
  trainingJob: TrainingJob & { apiKeyId: string }
  trainingStep: TrainingStep & { jobId: number; attempt: number }
}

export type TableName = keyof Rows

/** The first key identifies the row in memory. */
export const uniqueKeys: { [Name in TableName]: (keyof Rows[Name] & string)[][] } = {
  account: [['id']],
  artifact: [['id']],
  attempt: [['id'], ['jobId', 'number'], ['jobId', 'generation', 'ordinal']],
  datasetVersion: [['id'], ['accountId', 'datasetId', 'version']],
  evaluation: [['artifactId', 'index']],
  idempotencyKey: [['accountId', 'key']],
  jobEvent: [['id']],
  model: [['name'], ['artifactId']],
  outboxMessage: [['id']],
  trainingJob: [['id']],
  trainingStep: [['jobId', 'step']],
}

export const tableNames = Object.keys(uniqueKeys) as TableName[]

export const keyOf = (row: object, fields: readonly string[]) =>
  fields.map((field) => String((row as Record<string, unknown>)[field])).join('/')
