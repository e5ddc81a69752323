import { cancellationSignal } from '@temporalio/activity'
import { randomUUID } from 'node:crypto'
import type { RunSpec } from '../src/compute/compute.ts'
import { attemptRunName, podToken, sha256 } from '../src/domain/identifiers.ts'
import { isTerminal } from '../src/domain/training-job-status.ts'
import type { Artifact, Attempt, AttemptMode, TrainingJob } from '../src/domain/training-job.ts'
import { verifyFiles } from './artifact-files.ts'
import type { FineTuneDependencies } from './fine-tune.ts'
import { withHeartbeat } from './heartbeat.ts'
import { isRefusal } from './is-refusal.ts'
import { prepareRows } from './prepare-rows.ts'

type Position = { jobId: number; attempt: number }
/** What ended the attempt before. */
type Why = { reason: string; message: string }
type OpenAttempt = {
  jobId: number
  generation: number
  /** Position within the run of the workflow. */
  ordinal: number
  mode: AttemptMode
  /** An automatic relaunch that `resume_limit` counts. */
  counts: boolean
  why: Why | null
}
/** `attempt` is the one that has ended; runs that began before they said it do not. */
type Requeue = { jobId: number; generation: number; attempt?: number; why: Why; backOffMs: number }

/** Notifications come at once; this is how long a lost one may go unnoticed. */
const slotLookAgainMs = 5000
const gibibyte = 1024 ** 3

export function createAttemptActivities(deps: FineTuneDependencies) {
  const { database, compute, settings } = deps
  const tokenOf = (attemptId: string) => podToken(settings.secret, `attempt/${attemptId}`)

  return {
    /** The row, the fence against older attempts, the count and the move to QUEUED, at once. @returns null when a cancel or a newer run stands against it */
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
        // A model that an earlier run of the job saved is not trained again.
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
          tokenHash: sha256(tokenOf(id)),
        })
        if (counts) await tx.trainingJobs.countResume(jobId)
        if (mode === 'train')
          await tx.trainingJobs.queue({
            jobId,
            generation,
            attempt: number,
            reason: why?.reason ?? null,
            message: why ? `${why.message} Waiting to go on.` : null,
          })
        return { attempt: number }
      }),

    /** While it backs off it has no attempt: slots are for those that can use them. */
    requeue: ({ jobId, generation, attempt, why, backOffMs }: Requeue): Promise<void> =>
      database.transaction(async (tx) => {
        const { currentAttempt } = await tx.trainingJobs.hold(jobId)
        // A try that comes late: the next attempt is there already.
        if (attempt !== undefined && attempt !== currentAttempt) return
        const message = `${why.message} Trying again in ${Math.round(backOffMs / 1000)} s.`
        await tx.trainingJobs.queue({ jobId, generation, reason: why.reason, message })
      }),

    /** Waits for a slot, then starts the program; a repeat adopts it. */
    launchAttempt: ({ jobId, attempt: number }: Position): Promise<void> =>
      withHeartbeat(async () => {
        const position = { jobId, number }
        const job = await database.trainingJobs.get(jobId)
        if (!(await waitForSlot(deps, job, position))) return
        const attempt = await database.attempts.get(position)
        if (attempt.claimedAt === null) {
          // A store that was restored may have lost them since.
          await prepareRows(deps, job, cancellationSignal())
          const from = await chooseStart(deps, job, attempt)
          if (attempt.mode === 'evaluate' && from === null) {
            const message = 'The saved model does not match its manifest any more: it is trained again.'
            return database.attempts.recordEnd(position, { cause: 'control_plane', exitCode: null, message })
          }
          await database.attempts.setStart(position, {
            artifactId: from?.id ?? null,
            step: from?.step ?? 0,
            at: from?.createdAt ?? null,
          })
        }
        const account = await database.accounts.find(job.accountId)
        const priority = account?.priority ?? 'normal'
        const spec = { ...runSpec(settings, job, attempt, tokenOf(attempt.id)), priority }
        const { uid } = await compute.launch(spec).catch(async (error: unknown) => {
          // It is tried again, since what refuses it may be changed; until then the job says why it waits.
          if (isRefusal(error))
            await database.trainingJobs.explain(jobId, job.generation, 'QUEUED', 'launch_refused', error.message)
          throw error
        })
        await database.attempts.setRunUid(position, uid)
      }),
  }
}

/** @returns false when the attempt was fenced while it waited */
async function waitForSlot(
  { database, notifications, compute }: FineTuneDependencies,
  { generation }: TrainingJob,
  position: { jobId: number; number: number },
) {
  const signal = cancellationSignal()
  for (;;) {
    signal.throwIfAborted()
    const { slots } = compute.capacity()
    const waiting = await database.transaction((tx) => tx.attempts.grantSlots(slots))
    const attempt = await database.attempts.get(position)
    if (attempt.fencedAt !== null) return false
    if (attempt.grantedAt !== null) return true
    const message = `Waiting for a free slot: ${slots === 1 ? 'the only one is' : `all ${slots} are`} in use, ${waiting} waiting.`
    await database.trainingJobs.explain(position.jobId, generation, 'QUEUED', 'waiting_for_slot', message)
    await notifications.next('slots', { timeoutMs: slotLookAgainMs, signal })
  }
}

/** The newest checkpoint whose every byte is right, or the saved model that is to be evaluated. */
async function chooseStart(deps: FineTuneDependencies, job: TrainingJob, attempt: Attempt): Promise<Artifact | null> {
  const { artifacts } = deps.database
  const candidates = await artifacts.listUsable(job.id, attempt.mode === 'train' ? 'checkpoint' : 'model')
  for (const candidate of candidates.filter(({ specHash }) => specHash === job.specHash)) {
    // Also what was verified before: bytes rot, and a store may have been restored.
    if (await verifyFiles(deps.storage, candidate.files)) {
      await artifacts.markVerified(candidate.id)
      return candidate
    }
    await artifacts.markCorrupt(candidate.id)
    const message = `The ${candidate.kind} of step ${candidate.step} does not match its manifest and is passed over.`
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

function runSpec(
  settings: FineTuneDependencies['settings'],
  job: TrainingJob,
  attempt: Attempt,
  token: string,
): RunSpec {
  const { cpuCount, memoryGiB, gpuCount } = job.spec.baseModel.resources
  return {
    name: attempt.runName,
    program: 'trainer',
    model: job.spec.baseModel.name,
    labels: { job: String(job.id), attempt: String(attempt.number), account: job.accountId },
    env: { ANNEAL_INTERNAL_URL: settings.internalUrl },
    secretEnv: { ANNEAL_TOKEN: token },
    resources: {
      cpuCount,
      memoryBytes: memoryGiB * gibibyte,
      gpuCount: job.spec.gpus ?? gpuCount,
      nodeCount: job.spec.nodes,
    },
    terminationGraceMs: settings.terminationGraceMs,
  }
}
