import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import type { TrainerSpec } from '../src/compute/trainers.ts'
import { gibibyte } from '../src/domain/catalogue.ts'
import { attemptRunName, podToken, sha256 } from '../src/domain/identifiers.ts'
import { isTerminal } from '../src/domain/training-job-status.ts'
import { slotWait } from '../src/domain/wait.ts'
import type { Artifact, Attempt, AttemptMode, TrainingJob } from '../src/domain/training-job.ts'
import { verifyFiles } from './artifact-files.ts'
import type { FineTuneDependencies } from './fine-tune-dependencies.ts'
import { withHeartbeat } from './heartbeat.ts'
import { isInvalidSpec } from './compute-error.ts'
import type { PrepareRows } from './prepare-rows.ts'

type Settings = FineTuneDependencies['settings']
type Position = { jobId: number; attempt: number }
type AttemptPosition = { jobId: number; number: number }
/** The end of the previous attempt. */
type Why = { reason: string; message: string }
type OpenAttempt = {
  jobId: number
  generation: number
  /** Position among the attempts of this generation. */
  ordinal: number
  mode: AttemptMode
  /** An automatic relaunch that `resume_limit` counts. */
  counts: boolean
  why: Why | null
}
/** `attempt`: the one that has ended. */
type Requeue = { jobId: number; generation: number; attempt: number; why: Why; backOffMs: number }

const tokenOf = ({ secret }: Settings, attemptId: string) => podToken(secret, `attempt/${attemptId}`)

export function createAttemptActivities(deps: FineTuneDependencies, prepareRows: PrepareRows) {
  const { database, settings } = deps

  return {
    /** Writes the row, the fence against older attempts, the count and the move to QUEUED in one transaction. @returns null after a cancel or a newer generation */
    openAttempt: ({
      jobId,
      generation,
      ordinal,
      mode,
      counts,
      why,
    }: OpenAttempt): Promise<{ attempt: number | null }> =>
      database.transaction(async (tx) => {
        const job = await tx.trainingJobs.hold(jobId)
        const opened = await tx.attempts.findByOrdinal(jobId, generation, ordinal)
        if (opened) return { attempt: opened.number }
        if (job.generation !== generation || job.cancelRequestedAt || isTerminal(job.status)) return { attempt: null }
        const number = job.currentAttempt + 1
        const id = randomUUID()
        // A model that an earlier attempt saved is only evaluated.
        const isTrained = mode === 'train' && (await tx.artifacts.newestModel(jobId)) !== null
        await tx.attempts.open({
          id,
          jobId,
          number,
          generation,
          ordinal,
          accountId: job.accountId,
          mode: isTrained ? 'evaluate' : mode,
          runName: attemptRunName(jobId, number),
          tokenHash: sha256(tokenOf(settings, id)),
          // The checks of data sets take unequal times, and slots go in the order of acceptance.
          queuedAt: generation === 1 && ordinal === 0 ? job.createdAt : null,
        })
        if (counts) await tx.trainingJobs.countResume(jobId)
        if (mode === 'train')
          await tx.trainingJobs.queue({
            jobId,
            generation,
            attempt: number,
            reason: why?.reason ?? null,
            message: why ? `${why.message} Waiting to continue.` : null,
          })
        return { attempt: number }
      }),

    /** A job that backs off has no attempt, so it holds no slot. */
    requeue: ({ jobId, generation, attempt, why, backOffMs }: Requeue): Promise<void> =>
      database.transaction(async (tx) => {
        const { currentAttempt } = await tx.trainingJobs.hold(jobId)
        // A late retry of this activity: the next attempt exists already.
        if (attempt !== currentAttempt) return
        const message = `${why.message} Trying again in ${Math.round(backOffMs / 1000)} s.`
        await tx.trainingJobs.queue({ jobId, generation, reason: why.reason, message })
      }),

    /**
     * Asks for a slot and, with it, starts the program; a repeat adopts it. The workflow waits for the slot, not this activity:
     * thousands of waiting activities would fill the worker.
     */
    launchAttempt: ({ jobId, attempt: number }: Position): Promise<'waiting' | null> =>
      withHeartbeat(async () => {
        const position = { jobId, number }
        const slot = await takeSlot(deps, position)
        if (slot === 'granted') await launch(deps, prepareRows, position)
        return slot === 'waiting' ? 'waiting' : null
      }),
  }
}

async function takeSlot({ database, trainers }: FineTuneDependencies, position: AttemptPosition) {
  const { slots } = trainers.capacity()
  await database.transaction((tx) => tx.attempts.grantSlots(slots, position.jobId))
  const { fencedAt, grantedAt, generation } = await database.attempts.get(position)
  if (fencedAt !== null) return 'fenced'
  if (grantedAt !== null) return 'granted'
  const { reason, message } = slotWait(slots, await database.installation.maintenance())
  await database.trainingJobs.explain(position.jobId, generation, 'QUEUED', reason, message)
  return 'waiting'
}

async function launch(deps: FineTuneDependencies, prepareRows: PrepareRows, position: AttemptPosition) {
  const { database, trainers, settings } = deps
  const job = await database.trainingJobs.get(position.jobId)
  const attempt = await database.attempts.get(position)
  if (attempt.claimedAt === null) {
    // A store that was restored may have lost the rows since.
    await prepareRows(job, cancellationSignal())
    const from = await chooseStart(deps, job, attempt)
    if (attempt.mode === 'evaluate' && from === null) {
      const message = 'The saved model no longer matches its manifest. The job will train again.'
      return database.attempts.recordEnd(position, { cause: 'control_plane', exitCode: null, message })
    }
    const lost = from === null ? await missingStart(deps, job) : null
    if (lost !== null)
      return database.attempts.recordEnd(position, { cause: 'model_unavailable', exitCode: null, message: lost })
    await database.attempts.setStart(position, {
      artifactId: from?.id ?? null,
      step: from?.step ?? 0,
      at: from?.createdAt ?? null,
    })
  }
  const account = await database.accounts.find(job.accountId)
  const priority = account?.priority ?? 'normal'
  const spec = { ...runSpec(settings, job, attempt), priority }
  const { uid } = await trainers.launch(spec).catch(async (error: unknown) => {
    // Retried, because an operator may change what refuses it. Until then the job says why it waits.
    if (isInvalidSpec(error))
      await database.trainingJobs.explain(job.id, job.generation, 'QUEUED', 'launch_refused', error.message)
    throw error
  })
  await database.attempts.setRunUid(position, uid)
}

/** A checkpoint holds the whole adapter, so only a start from the beginning needs the tuned model. */
async function missingStart({ database }: FineTuneDependencies, { accountId, spec }: TrainingJob) {
  if (!spec.startFrom || (await database.models.find(accountId, spec.startFrom.modelName))) return null
  return `The tuned model ${spec.startFrom.modelName}, which this job begins from, was deleted. Submit a job from another model.`
}

/** The newest checkpoint whose bytes match its manifest, or the saved model to evaluate. */
async function chooseStart(deps: FineTuneDependencies, job: TrainingJob, attempt: Attempt): Promise<Artifact | null> {
  const { artifacts } = deps.database
  const candidates = await artifacts.listUsable(job.id, attempt.mode === 'train' ? 'checkpoint' : 'model')
  for (const candidate of candidates.filter(({ specHash }) => specHash === job.specHash)) {
    // Verified each time: bytes rot, and a store may have been restored.
    if (await verifyFiles(deps.storage, candidate.files)) {
      await artifacts.markVerified(candidate.id)
      return candidate
    }
    await artifacts.markCorrupt(candidate.id)
    const message = `The ${candidate.kind} of step ${candidate.step} does not match its manifest and is skipped.`
    await deps.database.jobEvents.add(job.id, {
      kind: 'attempt',
      attempt: attempt.number,
      reason: 'checkpoint_corrupt',
      message,
      actor: 'worker',
    })
  }
  return null
}

function runSpec(settings: Settings, job: TrainingJob, attempt: Attempt): TrainerSpec {
  const { cpuCount, memoryGiB, diskGiB, gpuCount } = job.spec.baseModel.resources
  return {
    name: attempt.runName,
    model: job.spec.baseModel.name,
    labels: { job: String(job.id), attempt: String(attempt.number), account: job.accountId },
    env: { ANNEAL_INTERNAL_URL: settings.internalUrl },
    secretEnv: { ANNEAL_TOKEN: tokenOf(settings, attempt.id) },
    resources: {
      cpuCount,
      memoryBytes: memoryGiB * gibibyte,
      diskBytes: diskGiB * gibibyte,
      gpuCount: job.spec.gpus ?? gpuCount,
      nodeCount: job.spec.nodes,
    },
    terminationGraceMs: settings.terminationGraceMs,
  }
}
