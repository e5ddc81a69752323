// A training pod claims its attempt first. The answer holds everything that the pod needs to know.
import { ServiceError } from '../../domain/service-error.ts'
import { fineTuneWorkflowId } from '../../domain/identifiers.ts'
import { chatOptionsOf, systemMessageOf, type Learned } from '../../domain/learned.ts'
import type {
  Artifact,
  ArtifactFile,
  Attempt,
  DataFile,
  EvaluationSettings,
  RowsFile,
  TrainingJob,
} from '../../domain/training-job.ts'
import { graderForTrainer } from '../../domain/reward-task.ts'
import { rolloutFiles } from '../../domain/rollouts.ts'
import { methodForTrainer, type TrainingMethod } from '../../domain/training-method.ts'
import type { PodCtx } from '../context.ts'
import { fenced } from './fenced-write.ts'

/** Trainers of another minor version use another protocol. */
const supportedRuntime = /^0\.1\.\d+/

const maxStep = 2 ** 31 - 1

type ClaimInput = { claimId: string; runtimeVersion: string; hostname: string; device: string }

/** @throws ServiceError attempt_fenced, invalid_token, unsupported_runtime */
export async function claimAttempt({ pod, input }: { pod: PodCtx; input: ClaimInput }) {
  requireSupportedRuntime(input.runtimeVersion)
  const { attempt, job } = await claim(pod, input)
  const { database } = pod.deps
  const checkpoint =
    attempt.fromArtifactId === null ? null : await database.artifacts.find(job.id, attempt.fromArtifactId)
  if (!job.preparedData) throw new Error(`job ${job.id} has an attempt but no prepared data`)
  const { train, evaluation } = job.preparedData
  const { name, source, sha256 } = job.spec.baseModel
  const { startFrom, method, sources } = job.spec
  return {
    job_id: job.id,
    attempt: attempt.number,
    mode: attempt.mode,
    base_model: { name, source, sha256 },
    spec_hash: job.specHash,
    args: job.spec.args,
    ...(method && { method: methodForTrainer(method) }),
    ...(method?.task && {
      grader: graderForTrainer(method.task),
      ...(method.task.grammar && { grammar: method.task.grammar }),
      rollouts: attempt.mode === 'train' ? await neededRollouts(pod, attempt, method) : [],
    }),
    data: {
      train: await rowsFile(pod, train),
      evaluation: { ...(await rowsFile(pod, evaluation)), split: evaluation.split },
      ...(sources && {
        sources: sources.map(({ datasetId }) => datasetId),
        weights: sources.map(({ weight }) => weight),
      }),
    },
    evaluation: evaluationOf(job.spec.evaluation ?? {}, job.preparedData.learned ?? null),
    checkpoint: attempt.mode === 'train' && checkpoint ? await artifactFiles(pod, checkpoint) : null,
    model: attempt.mode === 'evaluate' && checkpoint ? await artifactFiles(pod, checkpoint) : null,
    ...(startFrom && { start: { model_name: startFrom.modelName, files: await fileLinks(pod, startFrom.files) } }),
  }
}

/** Those of updates after the checkpoint, and of validations that may have come after it. */
async function neededRollouts(pod: PodCtx, { jobId, fromStep }: Attempt, { hyperparameters }: TrainingMethod) {
  const updates = Number(hyperparameters['num_iterations'])
  const range = { from: fromStep - updates + 1, to: maxStep }
  const listed = await pod.deps.database.artifacts.listRollouts(jobId, range)
  const ofValidation: string[] = Object.values(rolloutFiles.held_out)
  const isNeeded = (step: number, name: string) =>
    ofValidation.includes(name) ? step >= fromStep : step + updates - 1 > fromStep
  const needed = listed.map(({ step, files }) => ({ step, files: files.filter(({ name }) => isNeeded(step, name)) }))
  return Promise.all(
    needed
      .filter(({ files }) => files.length > 0)
      .map(async ({ step, files }) => ({ step, files: await fileLinks(pod, files) })),
  )
}

/** Rows without messages are asked as chats when the model learned conversations, unless the request says otherwise. */
function evaluationOf({ maxRows, maxTokens, ...form }: EvaluationSettings, learned: Learned | null) {
  const chat = chatOptionsOf(form, learned)
  return {
    max_rows: maxRows ?? null,
    max_tokens: maxTokens ?? null,
    as_chat: chat !== null,
    system: chat && systemMessageOf(chat, learned),
  }
}

/** @throws ServiceError unsupported_runtime */
export function requireSupportedRuntime(version: string) {
  if (supportedRuntime.test(version)) return
  throw new ServiceError(
    'unsupported_runtime',
    `This service needs a runtime of version 0.1.x, not ${version}. Build the image from this release.`,
  )
}

async function claim(
  { deps, tokenHash }: PodCtx,
  { claimId, hostname, device }: ClaimInput,
): Promise<{ attempt: Attempt; job: TrainingJob }> {
  return deps.database.transaction(async (tx) => {
    const claimed = await tx.attempts.claim(tokenHash, claimId)
    if (!claimed)
      throw (await tx.attempts.exists(tokenHash)) ? fenced() : new ServiceError('invalid_token', 'invalid token')
    const { attempt, first } = claimed
    const { jobId, number, generation } = attempt
    const job = await tx.trainingJobs.get(jobId)
    if (!first) return { attempt, job }
    if (attempt.mode === 'train') await tx.trainingSteps.deleteAfter(jobId, attempt.fromStep)
    await tx.jobEvents.add(jobId, {
      kind: 'attempt',
      attempt: number,
      reason: 'claimed',
      message: `Runs on ${hostname} (${device})${attempt.fromStep > 0 ? `, from step ${attempt.fromStep}` : ''}.`,
      actor: `attempt:${number}`,
    })
    await tx.outbox.add({
      workflowId: fineTuneWorkflowId(jobId),
      kind: 'phase',
      generation,
      payload: { attempt: number, phase: 'LOADING DATA' },
    })
    return { attempt, job }
  })
}

const rowsFile = async (pod: PodCtx, { lines, ...file }: RowsFile) => ({
  ...(await dataFile(pod, file)),
  rows: file.rowCount,
  ...(lines && { lines: await dataFile(pod, lines) }),
})

const dataFile = async ({ deps }: PodCtx, { key, sizeBytes, sha256 }: DataFile) => ({
  url: await deps.storage.presignPodGet(key),
  size: sizeBytes,
  sha256,
})

const artifactFiles = async (pod: PodCtx, { id, step, files }: Artifact) => ({
  id,
  step,
  files: await fileLinks(pod, files),
})

export const fileLinks = ({ deps }: PodCtx, files: readonly ArtifactFile[]) =>
  Promise.all(
    files.map(async ({ name, key, sizeBytes, sha256 }) => ({
      name,
      url: await deps.storage.presignPodGet(key),
      size: sizeBytes,
      sha256,
    })),
  )
