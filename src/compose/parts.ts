// The parts that the api and the worker have in common, opened from one configuration.
import type { Config } from '../config/service.ts'
import { createDatasetValidator } from '../datasets/dataset-validator.ts'
import { modelServerToken } from '../domain/model-server-token.ts'
import { graderPodToken } from '../domain/python-grader.ts'
import { createGrading } from '../grading/grading-threads.ts'
import { createPythonGraders, noPythonGraders } from '../grading/python/python-graders.ts'
import { createPodSandbox } from '../grading/python/pod-sandbox.ts'
import { createSandbox } from '../grading/python/sandbox.ts'
import { askingJudges } from '../http/openai/ask-judges.ts'
import { createInference } from '../inference/inference.ts'
import type { Log } from '../log.ts'
import { connectDatabase, type Database } from '../repositories/database.ts'
import { listenToNotifications } from '../repositories/notifications.ts'
import { connectStoredRowSearch } from '../repositories/stored-row-search.ts'
import { createActivity } from '../services/activity.ts'
import { createOwnEmbedding } from '../services/batches/infer.ts'
import { createHasRows } from '../services/stored-data/has-rows.ts'
import { createSearchRows, searchLimits, searchTimeoutMs } from '../services/stored-data/search-rows.ts'
import { createEvaluationScores } from '../services/training-jobs/score-evaluation.ts'
import { createUsageRecorder } from '../services/usage/usage-recorder.ts'
import { createStorage } from '../storage/storage.ts'

export function openParts(config: Config, log: Log) {
  const database = connectDatabase(config.database)
  const notifications = listenToNotifications(config.databaseSession)
  const rowSearch = connectStoredRowSearch(config.databaseSession, {
    connections: searchLimits.total,
    timeoutMs: searchTimeoutMs,
  })
  const inference = createInference({
    ...config,
    modelServers: database.modelServers,
    outbox: database.outbox,
    notifications,
    serverToken: (baseModel, launch) => modelServerToken(config.secret, baseModel, launch),
    log,
  })
  const activity = createActivity()
  const models = {
    database,
    inference,
    activity,
    storage: createStorage(config.s3),
    catalogue: config.catalogue,
    hasRows: createHasRows({ database, notifications }),
    searchRows: createSearchRows(rowSearch, activity),
    usage: createUsageRecorder({ usage: database.usage, log }),
  }
  const grading = createGrading({ python: openPythonGraders(config, database, log) })
  const embed = createOwnEmbedding(models)
  return {
    ...models,
    notifications,
    datasets: createDatasetValidator(config.s3, config.tokenizers, config.datasetLimits),
    grading,
    embed,
    evaluationScores: createEvaluationScores({
      ...{ grading, embed, models: database.models, artifacts: database.artifacts },
      askOf: (accountId) => askingJudges({ deps: { ...models, log }, accountId, apiKeyId: null }),
    }),
    log,

    async close() {
      await models.usage.close()
      await Promise.allSettled([notifications.close(), rowSearch.close()])
      await database.close()
    },
  }
}

function openPythonGraders(config: Config, { graderPods: pods }: Pick<Database, 'graderPods'>, log: Log) {
  const { mode, python, sampleMs, podsOfAccount } = config.pythonGraders
  if (mode === 'off') return createPythonGraders({ sandbox: noPythonGraders })
  const sandbox =
    config.compute === 'kubernetes'
      ? createPodSandbox({ pods, podsOfAccount, tokenOf: (name) => graderPodToken(config.secret, name) })
      : createSandbox(python)
  const warn = (reason: string) => log.warn({ reason }, 'Python graders cannot run')
  return createPythonGraders({ sandbox, sampleMs, warn })
}
