// What a verb gets: who asks, and what the process is wired to.
import type { DatasetValidator } from '../datasets/dataset-validator.ts'
import type { Catalogue } from '../domain/catalogue.ts'
import type { Log } from '../log.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { Database } from '../repositories/database.ts'
import type { Storage } from '../storage/storage.ts'
import type { Limits } from './limits/limits.ts'
import type { Inference } from '../inference/inference.ts'
import type { HasRows } from './stored-data/has-rows.ts'
import type { UsageRecorder } from './usage/usage-recorder.ts'
import type { CallRules } from './webhooks/call.ts'

type ServiceSettings = {
  secret: string
  resumeLimit: number
  maxGpus: number
  maxNodes: number
  /** Of one account. */
  maxOpenJobs: number
  maxStoredBytes: number
  /** Which servers of users may be called. */
  webhooks: CallRules
}

export type ServiceDependencies = {
  database: Database
  notifications: Notifications
  storage: Storage
  datasets: Pick<DatasetValidator, 'check'>
  inference: Inference
  hasRows: HasRows
  usage: Pick<UsageRecorder, 'add'>
  catalogue: Catalogue
  limits: Limits
  settings: ServiceSettings
  log: Log
}

/** Where a request came from, for the audit trail. */
export type Origin = { requestId: string; address: string }

/** A request of a user: every read and write is scoped to `accountId`. */
export type Ctx = { deps: ServiceDependencies; accountId: string; apiKeyId: string; origin: Origin }

/**
 * A request to the admin routes. `accountId` null: the operator, who may act on every account; otherwise a key with the
 * scope admin, which may act on its own.
 */
export type AdminCtx = { deps: ServiceDependencies; accountId: string | null; apiKeyId: string; origin: Origin }

/** What asking a model takes: all of it is at hand in a worker as well, where no request is. */
export type ModelCtx = {
  deps: Pick<ServiceDependencies, 'database' | 'storage' | 'inference' | 'hasRows' | 'catalogue' | 'usage'>
  accountId: string
  /** Null: nobody's; it is counted all the same. */
  apiKeyId: string | null
}

/** A request of a pod; `tokenHash` names its attempt or its model server. */
export type PodCtx = { deps: ServiceDependencies; tokenHash: Uint8Array }
