// The context of a service call: its caller and its dependencies.
import type { DatasetValidator } from '../datasets/dataset-validator.ts'
import type { Catalogue } from '../domain/catalogue.ts'
import type { Person } from '../domain/person.ts'
import type { Prices } from '../domain/prices.ts'
import type { Grading } from '../grading/grading-threads.ts'
import type { Role } from '../domain/roles.ts'
import type { Log } from '../log.ts'
import type { ApiKeyRecord } from '../repositories/accounts.ts'
import type { createLogin } from '../sign-in/login.ts'
import type { Notifications } from '../repositories/notifications.ts'
import type { Database } from '../repositories/database.ts'
import type { Storage } from '../storage/storage.ts'
import type { Activity } from './activity.ts'
import type { BatchBeginnings } from './batches/beginnings.ts'
import type { Limits } from './limits/limits.ts'
import type { Inference } from '../inference/inference.ts'
import type { JobFeeds } from './job-stream/job-feeds.ts'
import type { EvaluationScores } from './training-jobs/score-evaluation.ts'
import type { HasRows } from './stored-data/has-rows.ts'
import type { SearchRows } from './stored-data/search-rows.ts'
import type { UsageRecorder } from './usage/usage-recorder.ts'
import type { CallRules } from './webhooks/exchange.ts'

/**
 * The latest end of a key that a key or a session makes. `maker`: with the key or the session. `key`: with the
 * key, also if a session made them for it. `nothing`: with nothing.
 */
export type MadeKeyEnd = 'maker' | 'key' | 'nothing'

type ServiceSettings = {
  secret: string
  resumeLimit: number
  maxGpus: number
  maxNodes: number
  /** Limit of one account. */
  maxOpenJobs: number
  maxStoredBytes: number
  /** In the database. */
  maxRowBytes: number
  maxOpenBatches: number
  /** Items of open batches that are not done. */
  maxWaitingBatchItems: number
  maxOpenEvaluations: number
  /** Rows times models of open evaluations. */
  maxWaitingEvaluationAnswers: number
  /** Of committed rollouts, from which on an account may begin no reinforcement job. */
  maxRolloutBytes: number
  /** Merged exports that have not ended. */
  maxOpenExports: number
  /** Rows under one id. */
  maxStoredRows: number
  /** Keys of one account that are neither revoked nor expired. */
  maxLiveKeys: number
  madeKeysEndWith: MadeKeyEnd
  /** The longest life of a key that a person makes. */
  personKeyDays: number
  /** Null where the operator has set none. */
  prices: Prices | null
  /** The release of this service. */
  release: string
  /** Where the Temporal UI shows a workflow by its id; null when the operator has not named the UI. */
  temporalWorkflowsUrl: string | null
  /** Rules for calls to users' webhook servers. */
  webhooks: CallRules
}

export type ServiceDependencies = {
  database: Database
  notifications: Notifications
  storage: Storage
  datasets: Pick<DatasetValidator, 'check' | 'preview' | 'lines' | 'rollouts' | 'map' | 'join'>
  inference: Inference
  batchBeginnings: BatchBeginnings
  grading: Grading
  evaluationScores: EvaluationScores
  jobFeeds: Pick<JobFeeds, 'follow'>
  hasRows: HasRows
  searchRows: SearchRows
  activity: Pick<Activity, 'note'>
  usage: Pick<UsageRecorder, 'add'>
  catalogue: Catalogue
  limits: Limits
  /** Null where people have API keys only. */
  signIn: SignIn | null
  settings: ServiceSettings
  log: Log
}

type Login = ReturnType<typeof createLogin>

/** The origin of a request, for the audit trail. */
export type Origin = { requestId: string; address: string }

/** A request that needs no key. */
export type OpenCtx = { deps: ServiceDependencies; origin: Origin }

/**
 * Sign-in of people with an identity provider. `account`: the one that the person has chosen among several. All functions throw
 * ServiceError invalid_token; unavailable while the provider has never answered.
 */
export type SignIn = {
  /** The key that stands for the person whom a token names. Throws invalid_input if an account must be chosen. */
  authenticate(token: string, account: string | undefined, origin: Origin): Promise<ApiKeyRecord>
  /** Null for somebody who is no operator. */
  operatorOf(token: string): Promise<Person | null>
  /** Null where the console does not sign people in. */
  login: (Login & { enter(entering: Entering): Promise<EnteredPerson> }) | null
  /** What programs that sign people in have to know. Nothing of it is secret. */
  shown: { issuer: string; clientId: string | null; cliClientId: string | null; audience: string; scopes: string }
}

/** `idToken` and `asked` are what the end of a login has given. */
type Entering = { idToken: string; asked: object; account: string | null; origin: Origin }

/** The key that stands for the person in the account, and all accounts in which the person has a role. */
export type EnteredPerson = {
  key: ApiKeyRecord
  name: string
  expiresAt: Date
  account: string
  accounts: { account: string; role: Role }[]
}

/**
 * A user's request. Every read and write is limited to `accountId`. `sessionId` is set for pages of the console, `person` where
 * the key stands for somebody who signed in.
 */
export type Ctx = {
  deps: ServiceDependencies
  accountId: string
  apiKeyId: string
  origin: Origin
  sessionId?: string
  person?: Person
  /** The key has the scope admin, so it may see the people of the account. */
  isAdmin?: true
}

/**
 * A request to the admin routes. `accountId` is null for the operator, who may act on every account. A key with the scope
 * admin may act on its own account.
 */
export type AdminCtx = Omit<Ctx, 'accountId'> & { accountId: string | null }

/** The context of a call to a model. Workers have one too, without a request. */
export type ModelCtx = {
  deps: Pick<
    ServiceDependencies,
    'database' | 'storage' | 'inference' | 'hasRows' | 'searchRows' | 'activity' | 'catalogue' | 'usage'
  >
  accountId: string
  /** Null when the service itself asks; usage is counted all the same. */
  apiKeyId: string | null
}

/** A pod's request. `tokenHash` identifies its attempt or model server. */
export type PodCtx = { deps: ServiceDependencies; tokenHash: Uint8Array }
