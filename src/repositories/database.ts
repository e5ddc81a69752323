// The only folder with Prisma code. Repositories take the connection or a transaction and return plain domain objects.
import { PrismaPg } from '@prisma/adapter-pg'
import pg from 'pg'
import { PrismaClient } from '../../generated/prisma/client.ts'
import { createAccountDataRepository } from './account-deletion.ts'
import { createAccountRepository } from './accounts.ts'
import { createApiKeyRepository } from './api-keys.ts'
import { createArtifactRepository } from './artifacts.ts'
import { createAttemptRepository } from './attempts.ts'
import { createAttemptWaitRepository } from './attempt-waits.ts'
import { createAuditEventRepository } from './audit-events.ts'
import { createBacklogRepository } from './backlog.ts'
import { createBatchListRepository } from './batch-list.ts'
import type { Connection } from './connection.ts'
import { connectionOptions, isPooled, type DatabaseAddress, type DatabaseTimeouts } from './connection-options.ts'
import { createDatasetRepository } from './datasets.ts'
import { createInstallationRepository } from './installation.ts'
import { createEvalRepository } from './evals.ts'
import { createFileUploadRepository } from './file-uploads.ts'
import { createGradeRepository } from './grades.ts'
import { createGraderPodRepository } from './grader-pods.ts'
import { createRetentionRepository } from './retention.ts'
import { createImportedJobRepository } from './imported-jobs.ts'
import { createIdempotencyRepository } from './idempotency-keys.ts'
import { createJobAcceptanceRepository } from './job-acceptance.ts'
import { createJobBriefRepository } from './job-briefs.ts'
import { createJobDetailsRepository } from './job-details.ts'
import { createConsoleSessionRepository } from './console-sessions.ts'
import { createInferenceBatchRepository } from './inference-batches.ts'
import { createRequestBatchRepository } from './request-batches.ts'
import { createJobEventRepository } from './job-events.ts'
import { createJobRecordRepository } from './job-records.ts'
import { createJobFeedRepository } from './job-feed.ts'
import { createJobTimelineRepository } from './job-timeline.ts'
import { createJobTrackerRepository } from './job-trackers.ts'
import { createTrainingJobRepository } from './training-jobs.ts'
import { createModelEvaluationRepository } from './model-evaluations.ts'
import { createModelExportRepository } from './model-exports.ts'
import { createModelServerRepository } from './model-servers.ts'
import { createModelNameRepository } from './model-names.ts'
import { createModelRepository } from './models.ts'
import { createDurableWorkRepository } from './durable-work.ts'
import { createOperatorViewRepository } from './operator-views.ts'
import { createOutboxRepository } from './outbox.ts'
import { preparing, unprepared, type RunStatement } from './prepared-sql.ts'
import { createStoredResponseRepository } from './stored-responses.ts'
import { createStoredRowRepository } from './stored-rows.ts'
import { createTrainingStepRepository } from './training-steps.ts'
import { createReaperRepository } from './reaper-queries.ts'
import { createTrainingUsageRepository } from './training-usage.ts'
import { createUsageRepository } from './usage.ts'
import { createWorkerRepository } from './workers.ts'
import { createWebhookDeliveryRepository } from './webhook-deliveries.ts'
import { createWebhookRepository } from './webhooks.ts'

const checkTimeoutMs = 2000

/** `run` executes the prepared statements of hot paths, in the same transaction as `db`. */
const createRepositories = (db: Connection, run: RunStatement) => ({
  accountData: createAccountDataRepository(db),
  accounts: createAccountRepository(db),
  apiKeys: createApiKeyRepository(db),
  artifacts: createArtifactRepository(db),
  attempts: createAttemptRepository(db),
  attemptWaits: createAttemptWaitRepository(db, run),
  auditEvents: createAuditEventRepository(db),
  backlog: createBacklogRepository(db),
  batchList: createBatchListRepository(run),
  consoleSessions: createConsoleSessionRepository(db),
  datasets: createDatasetRepository(db, run),
  durableWork: createDurableWorkRepository(db),
  evals: createEvalRepository(db),
  fileUploads: createFileUploadRepository(db),
  grades: createGradeRepository(db),
  graderPods: createGraderPodRepository(db),
  retention: createRetentionRepository(db),
  importedJobs: createImportedJobRepository(db),
  idempotencyKeys: createIdempotencyRepository(db),
  inferenceBatches: createInferenceBatchRepository(db),
  requestBatches: createRequestBatchRepository(db),
  installation: createInstallationRepository(db),
  jobAcceptance: createJobAcceptanceRepository(run),
  jobBriefs: createJobBriefRepository(run),
  jobDetails: createJobDetailsRepository(run),
  jobEvents: createJobEventRepository(db),
  jobRecords: createJobRecordRepository(db),
  jobFeed: createJobFeedRepository(run),
  jobTimeline: createJobTimelineRepository(run),
  jobTrackers: createJobTrackerRepository(db),
  modelEvaluations: createModelEvaluationRepository(db),
  modelExports: createModelExportRepository(db),
  modelServers: createModelServerRepository(db),
  modelNames: createModelNameRepository(db),
  models: createModelRepository(db, run),
  operatorViews: createOperatorViewRepository(run),
  outbox: createOutboxRepository(db),
  storedResponses: createStoredResponseRepository(db),
  storedRows: createStoredRowRepository(db),
  trainingJobs: createTrainingJobRepository(db, run),
  trainingSteps: createTrainingStepRepository(db, run),
  reaper: createReaperRepository(db),
  usage: createUsageRepository(db),
  trainingUsage: createTrainingUsageRepository(run),
  webhookDeliveries: createWebhookDeliveryRepository(db),
  webhooks: createWebhookRepository(db),
  workers: createWorkerRepository(db),
})

export type Repositories = ReturnType<typeof createRepositories>

export type Database = Repositories & {
  /** Runs `work` in a transaction with the isolation level read committed. */
  transaction<T>(work: (tx: Repositories) => Promise<T>): Promise<T>
  /** @throws Error when the database does not answer */
  check(): Promise<void>
  /** The database's clock. Compare times by it, because the clocks of processes may jump. */
  now(): Promise<Date>
  close(): Promise<void>
}

export function connectDatabase(
  at: string | DatabaseAddress,
  { poolSize = 20, timeouts }: { poolSize?: number; timeouts?: DatabaseTimeouts } = {},
): Database {
  const pool = new pg.Pool({ ...connectionOptions(at, timeouts), max: poolSize })
  // The pool replaces a broken idle connection at its next use.
  pool.on('error', () => undefined)
  const client = new PrismaClient({ adapter: new PrismaPg(pool) })
  const readiness = connectReadiness(at, timeouts)
  return {
    ...createRepositories(client, isPooled(at) ? unprepared(client) : preparing(pool)),
    transaction: (work) =>
      client.$transaction((tx) => work(createRepositories(tx, unprepared(tx))), { maxWait: 5000, timeout: 30_000 }),
    check: readiness.check,
    async now() {
      const [row] = await client.$queryRaw<[{ now: Date }]>`select now()`
      return row.now
    },
    async close() {
      await client.$disconnect()
      await Promise.all([pool.end(), readiness.close()])
    },
  }
}

/** A connection of its own, because a pool that is busy is no database that is away. Checks at the same time share one query. */
function connectReadiness(at: string | DatabaseAddress, timeouts?: DatabaseTimeouts) {
  const pool = new pg.Pool({ ...connectionOptions(at, timeouts), max: 1, query_timeout: checkTimeoutMs })
  pool.on('error', () => undefined)
  let checking: Promise<void> | undefined
  return {
    check: () =>
      (checking ??= pool
        .query('select 1')
        .then(() => undefined)
        .finally(() => (checking = undefined))),
    close: () => pool.end(),
  }
}

/** Whether another request has inserted the same key first. */
export const isUniqueViolation = (error: unknown) =>
  typeof error === 'object' && error !== null && 'code' in error && error.code === 'P2002'
