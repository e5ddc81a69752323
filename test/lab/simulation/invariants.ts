// Checks the guarantees after every commit; end-invariants.ts checks the end. The numbers are those of docs/reliability.md.
import type { AttemptCause } from '../../../src/domain/attempt-cause.ts'
import { isTerminal } from '../../../src/domain/training-job-status.ts'
import type { Attempt, TrainingJob } from '../../../src/domain/training-job.ts'
import type { Rows } from './in-memory-repositories/tables.ts'
import { checkEnd } from './end-invariants.ts'
import type { SimulatedRun } from './cluster.ts'
import { kernel } from './kernel.ts'
import { sha256Of } from './object-store.ts'
import type { Change } from './in-memory-repositories/transactions.ts'
import { idealWeights, lossOf } from './trainer.ts'
import type { World } from './world.ts'

type Step = Rows['trainingStep']

export class Invariants {
  readonly violations: string[] = []
  /** Ids of workflows that an operator has ended or deleted. */
  readonly tamperedWith = new Set<string>()
  hasTornObjects = false
  readonly #world: () => World
  readonly #accepted = new Map<string, number>()
  readonly #badData = new Map<number, boolean>()

  constructor(world: () => World) {
    this.#world = world
  }

  violate(what: string) {
    this.violations.push(`${Math.round(kernel().sinceStartMs)} ms: ${what}`)
  }

  hasBadData(jobId: number): boolean {
    const isBad = this.#badData.get(jobId) ?? kernel().chance(0.03)
    this.#badData.set(jobId, isBad)
    return isBad
  }

  /** 1. Requests with the same key are the same job. */
  accepted(key: string, jobId: number) {
    const before = this.#accepted.get(key)
    if (before !== undefined && before !== jobId)
      this.violate(`1: ${key} was answered with jobs ${before} and ${jobId}`)
    this.#accepted.set(key, jobId)
  }

  onCommit(changes: Change[]) {
    for (const { table, before, after } of changes) {
      if (table === 'trainingJob' && after) this.#job(before, after)
      if (table === 'attempt' && after) this.#attempt(before, after)
      if (table === 'trainingStep' && after) this.#step(after)
      if (table === 'artifact' && after?.committedAt && before?.committedAt === null)
        this.#written(after.jobId, after.attempt, 'committed an artifact')
    }
  }

  #job(before: TrainingJob | null, after: TrainingJob) {
    if (after.resumeCount > after.resumeLimit) this.violate(`7: job ${after.id} was resumed more often than it may`)
    if (after.status === 'CANCELLED' && before?.status !== 'CANCELLED')
      for (const run of this.#claimedRuns(after.id)) this.violate(`6: CANCELLED while ${run.spec.name} lives`)
    if (after.modelName !== null && after.modelName !== before?.modelName) this.#model(after, after.modelName)
    if (!before) return
    const isResume = after.generation === before.generation + 1
    // The prepared data may come after the end: a resume uses it.
    const isSame = differences({ ...before, preparedData: after.preparedData }, after) === ''
    if (isTerminal(before.status) && !isResume && !isSame)
      this.violate(`2: job ${after.id} changed after its end: ${differences(before, after)}`)
    if (before.cancelRequestedAt !== null && !isResume && isTerminal(after.status) && after.status !== 'CANCELLED')
      this.violate(`2: job ${after.id} was cancelled and became ${after.status}`)
    if (after.resumeCount < before.resumeCount || after.resumeCount > before.resumeCount + 1)
      this.violate(`7: resume_count went from ${before.resumeCount} to ${after.resumeCount}`)
  }

  #attempt(before: Attempt | null, after: Attempt) {
    const unfenced = this.#tables.all('attempt', ({ jobId, fencedAt }) => jobId === after.jobId && fencedAt === null)
    if (unfenced.length > 1) this.violate(`3: job ${after.jobId} has ${unfenced.length} unfenced attempts`)
    if (before && before.phase !== after.phase) this.#written(after.jobId, after.number, `reached ${after.phase}`)
    if (before?.cause !== after.cause) this.#cause(after)
    if (after.releasedAt === null || before?.releasedAt !== null) return
    for (const run of this.#claimedRuns(after.jobId))
      if (run.spec.name === after.runName) this.violate(`6: ${after.runName} was released while it lives`)
  }

  /** 8. The recorded cause is the real one. 4. An unanswered question is not a cause. */
  #cause({ jobId, cause, runName, claimId }: Attempt) {
    const run = this.#world().cluster.everyRun.find(
      ({ spec, uid }) => spec.name === runName && claimId === `claim-${uid}`,
    )
    if (!run) return
    const truth: Partial<Record<AttemptCause, boolean>> = {
      finished: run.end?.state === 'succeeded',
      killed: run.endedBy === 'a signal' || run.endedBy === 'an operator' || run.isTerminating,
      cancelled: this.#tables.all('trainingJob', ({ id }) => id === jobId)[0]?.cancelRequestedAt !== null,
      evicted: run.endedBy === 'its node',
      out_of_memory: run.endedBy === 'the kernel',
      node_lost: run.isNodeLost,
      stalled: this.#world().misfortunes.get(run.uid)?.kind === 'hang' || run.isNodeLost || run.end !== null,
      code_error: this.#world().misfortunes.get(run.uid)?.kind === 'code' || this.hasTornObjects,
    }
    if (cause !== null && truth[cause] === false)
      this.violate(`4, 8: ${runName} is said to be ${cause}; it was ended by ${run.endedBy}`)
  }

  #step({ jobId, step, loss, attempt }: Step) {
    this.#written(jobId, attempt, `wrote step ${step}`)
    if (loss !== lossOf(idealWeights(jobId)[step] ?? ''))
      this.violate(`7: step ${step} of job ${jobId} is not that of an uninterrupted run`)
  }

  /** 3. Only the newest, unfenced attempt writes, and none that was declared dead on a lost node. The last request of a killed one may still arrive. */
  #written(jobId: number, number: number, what: string) {
    const [attempt] = this.#tables.all('attempt', (row) => row.jobId === jobId && row.number === number)
    const job = this.#tables.of('trainingJob').get(String(jobId))
    const isDead = this.#world().cluster.everyRun.some(
      ({ spec, uid, isDeclaredDead, isNodeLost }) =>
        isDeclaredDead && isNodeLost && spec.name === attempt?.runName && attempt.claimId === `claim-${uid}`,
    )
    if (!attempt || attempt.fencedAt !== null || job?.currentAttempt !== number || isDead)
      this.violate(`3: attempt ${number} of job ${jobId} ${what} though it is ${isDead ? 'dead' : 'fenced'}`)
  }

  /** 5. Every byte of a named model is stored and correct. */
  #model({ id }: TrainingJob, name: string) {
    const model = this.#tables.of('model').get(name)
    if (!model) return this.violate(`5: job ${id} names a model that is not there`)
    const { objects } = this.#world().store
    for (const { key, sha256 } of model.files) {
      const text = objects.get(key)
      if (text === undefined || sha256Of(text) !== sha256)
        this.violate(`5: ${key} of job ${id} is not what it should be`)
      else if (!idealWeights(id).includes(text)) this.violate(`7: job ${id} published weights that no run could have`)
    }
  }

  checkEnd() {
    checkEnd(this.#world(), this.#accepted.size, (what) => this.violate(what))
  }

  #claimedRuns(id: number): SimulatedRun[] {
    const claims = this.#tables.all('attempt', ({ jobId }) => jobId === id).map(({ claimId }) => claimId)
    return this.#world()
      .cluster.living()
      .filter(({ spec, uid }) => spec.labels['job'] === String(id) && claims.includes(`claim-${uid}`))
  }

  get #tables() {
    return this.#world().tables
  }
}

const differences = (before: TrainingJob, after: TrainingJob) =>
  Object.entries(after)
    .filter(([field, value]) => before[field as keyof TrainingJob] !== value)
    .map(
      ([field, value]) => `${field} ${JSON.stringify(before[field as keyof TrainingJob])} → ${JSON.stringify(value)}`,
    )
    .join(', ')
