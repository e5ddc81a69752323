import type { ProgramsOfAccount } from '../../grading/python/sandbox.ts'
import { samplesAtGraders } from '../attempt-api/grade.ts'
import { maxSamplesAtGraders } from '../attempt-api/grading-work.ts'
import { maxSessions } from '../console/sign-in.ts'
import type { Ctx } from '../context.ts'
import { responseLimits } from '../responses/keep-response.ts'
import { maxEndpoints } from '../webhooks/endpoints.ts'

type Quota = {
  name: string
  title: string
  limit: number
  used: number
  /** What happens to a request that finds no room: it is refused, waits, or the oldest entry goes. */
  whenFull: 'refuses' | 'waits' | 'drops_oldest'
}

/** The quotas of the account, and what is used of each. */
export async function listLimits({ ctx: { deps, accountId } }: { ctx: Ctx }): Promise<Quota[]> {
  const { settings, database, limits } = deps
  const [openJobs, storedBytes, rowBytes, batches, evaluations, fullestId, liveKeys, webhooks, sessions, responses] =
    await Promise.all([
      database.accounts.countOpenJobs(accountId),
      database.accounts.storedBytes(accountId),
      database.accounts.rowBytes(accountId),
      database.inferenceBatches.openOf(accountId),
      database.modelEvaluations.openOf(accountId),
      database.storedRows.countOfFullest(accountId),
      database.apiKeys.countLive(accountId),
      database.webhooks.list(accountId),
      database.consoleSessions.count(accountId),
      database.storedResponses.keptOf(accountId),
    ])
  const [rolloutBytes, judged, programs] = await Promise.all([
    database.accounts.rolloutBytes(accountId),
    limits.judgeTokens.usedBy(accountId),
    deps.grading.python.programsOf(accountId),
  ])
  const { maxWaitingBatchItems, maxOpenEvaluations, maxWaitingEvaluationAnswers } = settings
  return [
    refusing('open_jobs', 'Open training jobs', settings.maxOpenJobs, openJobs),
    refusing('stored_bytes', 'Storage of files, data sets and models', settings.maxStoredBytes, storedBytes),
    refusing('row_bytes', 'Storage of rows, answers and requests', settings.maxRowBytes, rowBytes),
    refusing('open_batches', 'Open batches', settings.maxOpenBatches, batches.batchCount),
    refusing(
      'waiting_batch_items',
      'Requests that open batches have still to answer',
      maxWaitingBatchItems,
      batches.waitingItems,
    ),
    refusing('open_evaluations', 'Open evaluations', maxOpenEvaluations, evaluations.evaluationCount),
    refusing(
      'waiting_evaluation_answers',
      'Answers of open evaluations',
      maxWaitingEvaluationAnswers,
      evaluations.answerCount,
    ),
    waiting(
      'samples_at_graders',
      'Samples of reinforcement jobs at their graders',
      maxSamplesAtGraders,
      samplesAtGraders(accountId),
    ),
    ...(programs ? [ofPrograms(programs)] : []),
    refusing('rollout_bytes', 'Storage of rollouts of reinforcement jobs', settings.maxRolloutBytes, rolloutBytes),
    waiting('judge_tokens', 'Tokens of judges of reinforcement jobs, a day', limits.judgeTokens.perDay, judged.used),
    refusing('rows_under_one_id', 'Rows stored under one id, where most are', settings.maxStoredRows, fullestId),
    refusing('live_keys', 'Valid API keys', settings.maxLiveKeys, liveKeys),
    refusing('webhooks', 'Webhooks', maxEndpoints, webhooks.length),
    dropping('console_sessions', 'Console sessions and unopened sign-in links', maxSessions, sessions),
    dropping('kept_responses', 'Responses kept to be continued', responseLimits.responses, responses.count),
    dropping('kept_response_bytes', 'Storage of kept responses', responseLimits.bytes, responses.bytes),
  ]
}

const quotaThat =
  (whenFull: Quota['whenFull']) =>
  (name: string, title: string, limit: number, used: number): Quota => ({ name, title, limit, used, whenFull })

const refusing = quotaThat('refuses')
const waiting = quotaThat('waits')
const dropping = quotaThat('drops_oldest')

const ofPrograms = ({ limit, used, where }: ProgramsOfAccount): Quota => {
  const title = where === 'pods' ? 'Pods of Python graders' : 'Python graders that run at once, in this api process'
  return waiting('python_graders', title, limit, used)
}
