// Sends what a tracker does not have yet. The tracker itself says up to which step it has the series, so that a worker that was
// killed between a call and its note sends nothing twice.
import type { TrainingJob } from '../../domain/training-job.ts'
import type { ClaimedTracker } from '../../repositories/job-trackers.ts'
import type { Database } from '../../repositories/database.ts'
import { readEvaluation } from '../training-jobs/read-evaluation.ts'
import type { EvaluationScores } from '../training-jobs/score-evaluation.ts'
import { pointsPerCall, type Mlflow, type RunStatus } from './mlflow.ts'
import { lastOfStep, pointsOfFirst } from './points.ts'

export type NewsDependencies = {
  database: Pick<Database, 'artifacts' | 'jobTrackers' | 'models' | 'trainingJobs' | 'trainingSteps'>
  evaluationScores: EvaluationScores
}

/** As many as fit into a call when each has a dozen series. */
const stepsPerPage = 80
/** Bounds a round, so that its claim holds. */
const callsPerRound = 20
const defaultExperiment = 'anneal'

/** @returns `more` when the next round has something to send already */
export async function sendNews(
  deps: NewsDependencies,
  tracker: ClaimedTracker,
  mlflow: Mlflow,
): Promise<'more' | 'waiting' | 'done'> {
  const { trainingJobs, trainingSteps, jobTrackers } = deps.database
  // Read before the steps: an ended job reports no more of them.
  const job = await trainingJobs.get(tracker.jobId)
  const runId = tracker.runId ?? (await openRun(deps, tracker, job, mlflow))
  const { status, lastStep } = await mlflow.readRun(runId, lastOfStep)
  if (!job.finishedAt && status !== 'RUNNING') await mlflow.setStatus(runId, 'RUNNING', null)
  let sent = Math.max(tracker.sentStep, lastStep)
  for (let call = 0; call < callsPerRound; call++) {
    const steps = await trainingSteps.page(job.id, { after: sent, limit: stepsPerPage })
    const { points, stepCount } = pointsOfFirst(steps, pointsPerCall)
    if (stepCount > 0) await mlflow.log(runId, { metrics: points })
    sent = steps[stepCount - 1]?.row.step ?? sent
    if (sent > tracker.sentStep) await jobTrackers.noteSent(tracker, sent)
    if (stepCount < steps.length || steps.length === stepsPerPage) continue
    if (!job.finishedAt) return 'waiting'
    await end(deps, { tracker, job, finishedAt: job.finishedAt, runId, lastStep: sent }, mlflow)
    return 'done'
  }
  return 'more'
}

async function openRun(
  { database }: NewsDependencies,
  tracker: ClaimedTracker,
  job: TrainingJob,
  mlflow: Mlflow,
): Promise<string> {
  const { experiment, runName } = tracker.request
  const experimentId = await mlflow.experimentId(experiment ?? defaultExperiment)
  const mark = { key: 'anneal.tracker', value: tracker.id }
  const runId = await mlflow.openRun(experimentId, mark, {
    name: runName ?? job.customModelName ?? `job-${job.id}`,
    startTime: job.createdAt.getTime(),
    tags: [
      { key: 'mlflow.source.name', value: 'anneal' },
      { key: 'mlflow.source.type', value: 'JOB' },
      { key: 'anneal.job_id', value: String(job.id) },
      ...Object.entries(job.spec.metadata ?? {}).map(([key, value]) => ({ key: `anneal.metadata.${key}`, value })),
    ],
  })
  await mlflow.logParams(runId, [
    { key: 'base_model', value: job.baseModel },
    { key: 'dataset_id', value: job.datasetId },
    ...Object.entries(job.spec.args).map(([key, value]) => ({
      key,
      value: typeof value === 'string' ? value : JSON.stringify(value),
    })),
  ])
  await database.jobTrackers.noteRun(tracker, runId)
  return runId
}

type Ended = { tracker: ClaimedTracker; job: TrainingJob; finishedAt: Date; runId: string; lastStep: number }

async function end(deps: NewsDependencies, { tracker, job, finishedAt, runId, lastStep }: Ended, mlflow: Mlflow) {
  const { modelName } = job
  const url =
    modelName === null || !tracker.request.serviceUrl ? null : `${tracker.request.serviceUrl}/v1/models/${modelName}`
  const tags = [
    { key: 'anneal.status', value: job.status },
    ...(job.statusMessage === null ? [] : [{ key: 'anneal.message', value: job.statusMessage }]),
    ...(modelName === null ? [] : [{ key: 'anneal.model_name', value: modelName }]),
    ...(url === null ? [] : [{ key: 'anneal.model_url', value: url }]),
  ]
  const at = { timestamp: finishedAt.getTime(), step: lastStep }
  const metrics = (await scoresOf(deps, job)).map((score) => ({ ...score, ...at }))
  await mlflow.log(runId, { metrics, tags })
  await mlflow.setStatus(runId, runStatus(job), finishedAt.getTime())
}

/** Means of the tuned model and its base by grader; none when there is no evaluation, or scoring takes too much. */
async function scoresOf(deps: NewsDependencies, { accountId, modelName, spec }: TrainingJob) {
  const model = modelName === null ? null : await deps.database.models.find(accountId, modelName)
  const graders = spec.evaluation?.graders ?? null
  const evaluation =
    model && (await readEvaluation(deps, { accountId, modelName: model.name, artifactId: model.artifactId, graders }))
  return Object.entries(evaluation?.scored?.summary ?? {}).flatMap(([grader, figures]) =>
    (['tuned', 'base'] as const).flatMap((side) =>
      figures ? [{ key: `eval/${nameOf(grader)}/${side}`, value: figures[side].mean }] : [],
    ),
  )
}

/** MLflow refuses other characters in a key. */
const nameOf = (grader: string) => grader.replaceAll(/[^\w.\- ]/g, '_')

function runStatus({ status }: TrainingJob): RunStatus {
  if (status === 'FAILED') return 'FAILED'
  return status === 'CANCELLED' ? 'KILLED' : 'FINISHED'
}
