// The program of an attempt as the control plane sees it. It calls the real services of the attempt API. Its "weights" are
// a chain of hashes, so that a gap, a repeat or a wrong checkpoint shows in the model.
import type { ArtifactKind } from '../../../src/domain/training-job.ts'
import { sha256 } from '../../../src/domain/identifiers.ts'
import { ServiceError } from '../../../src/domain/service-error.ts'
import type { PodCtx, ServiceDependencies } from '../../../src/services/context.ts'
import { commitArtifact, createArtifact } from '../../../src/services/attempt-api/artifacts.ts'
import { claimAttempt } from '../../../src/services/attempt-api/claim.ts'
import { recordEvaluation } from '../../../src/services/attempt-api/record-evaluation.ts'
import { recordFailure } from '../../../src/services/attempt-api/record-failure.ts'
import { recordSteps } from '../../../src/services/attempt-api/record-steps.ts'
import { reportPhase } from '../../../src/services/attempt-api/report-phase.ts'
import type { AttemptPhase } from '../../../src/domain/training-job-status.ts'
import type { SimulatedRun } from './cluster.ts'
import { Unreachable } from './faults.ts'
import { kernel } from './kernel.ts'
import { sha256Of, type ObjectStore } from './object-store.ts'

export const totalSteps = 4
const stepsPerCheckpoint = 2
const stepMs = 1000

/** The weights after each step of an uninterrupted run. */
export function idealWeights(jobId: number): string[] {
  const weights = [`job ${jobId}`]
  for (let step = 1; step <= totalSteps; step++) weights.push(after(weights[step - 1] ?? '', step))
  return weights
}

const after = (weights: string, step: number) => sha256Of(`${weights}/${step}`)
export const lossOf = (weights: string) => Number.parseInt(weights.slice(0, 6), 16)

/** Calls the api, whichever process of it is alive. @throws the errors of the network */
export type CallApi = <T>(operation: string, work: (deps: ServiceDependencies) => Promise<T>) => Promise<T>
export type Misfortune = { kind: 'code' | 'hang'; atStep: number } | null

class Ended extends Error {
  readonly exitCode: number

  constructor(exitCode: number) {
    super(`exit ${exitCode}`)
    this.exitCode = exitCode
  }
}

/** @returns the exit code */
export async function runTrainer(
  run: SimulatedRun,
  { callApi, store, misfortune }: { callApi: CallApi; store: ObjectStore; misfortune: Misfortune },
): Promise<number> {
  const tokenHash = sha256(run.spec.secretEnv['ANNEAL_TOKEN'] ?? '')
  const pod = (deps: ServiceDependencies): PodCtx => ({ deps, tokenHash })

  /** Repeats a request until it is answered. Only an explicit fence ends the program. */
  async function ask<T>(operation: string, work: (deps: ServiceDependencies) => Promise<T>): Promise<T> {
    for (;;) {
      try {
        await untilReachable()
        return await callApi(operation, work)
      } catch (error) {
        if (error instanceof ServiceError && error.code === 'attempt_fenced') throw new Ended(77)
        if (error instanceof ServiceError && error.code !== 'unavailable') throw error
        await kernel().sleep(kernel().between(500, 4000))
      }
    }
  }

  async function untilReachable() {
    while (kernel().nowMs < run.cutOffUntilMs) await kernel().sleep(1000)
  }

  const reach = (phase: AttemptPhase) => ask('phase', (deps) => reportPhase({ pod: pod(deps), input: { phase } }))

  async function save(kind: ArtifactKind, step: number, weights: string) {
    const name = 'adapter_model.safetensors'
    const file = { name, sizeBytes: weights.length, sha256: sha256Of(weights) }
    for (;;) {
      const input = { kind, step, files: [file] }
      const { artifactId, uploads } = await ask('create artifact', (deps) => createArtifact({ pod: pod(deps), input }))
      for (const place of uploads) if ('url' in place) await untilPut(place.url, weights)
      try {
        return await ask('commit artifact', (deps) => commitArtifact({ pod: pod(deps), input: { artifactId } }))
      } catch (error) {
        if (!(error instanceof ServiceError)) throw error
      }
    }
  }

  async function untilPut(url: string, text: string) {
    for (;;) {
      try {
        await untilReachable()
        return await store.storage.put(url, text)
      } catch {
        await kernel().sleep(kernel().between(500, 4000))
      }
    }
  }

  async function train(jobId: number, from: { step: number; weights: string }) {
    let { step, weights } = from
    let saved = step
    await reach('TRAINING MODEL')
    while (step < totalSteps) {
      await kernel().sleep(kernel().between(stepMs / 2, stepMs * 2))
      if (run.isTerminating) {
        if (step > saved) await save('checkpoint', step, weights)
        throw new Ended(143)
      }
      if (misfortune?.atStep === step + 1) await suffer(misfortune.kind)
      step += 1
      weights = after(weights, step)
      const row = { step, loss: lossOf(weights), learning_rate: 1, epoch: 0, iter_time: 1, flops: 0, remaining_time: 0 }
      await ask('steps', (deps) => recordSteps({ pod: pod(deps), input: { steps: [row] } }))
      if (step % stepsPerCheckpoint !== 0 || step === totalSteps) continue
      await save('checkpoint', step, weights)
      saved = step
    }
    await reach('SAVING MODEL')
    await save('model', step, weights)
  }

  async function suffer(kind: 'code' | 'hang') {
    if (kind === 'hang') {
      // It ignores SIGTERM also: only SIGKILL ends it.
      for (;;) await kernel().sleep(60_000)
    }
    const input = { cause: 'code_error', message: 'It divided by zero.' }
    await ask('failure', (deps) => recordFailure({ pod: pod(deps), input }))
    throw new Ended(70)
  }

  async function evaluate() {
    await reach('EVALUATING MODEL')
    await kernel().sleep(stepMs)
    if (run.isTerminating) throw new Ended(143)
    const results = [{ input: 'a', expected: 'b', tuned: 'b', base: 'c' }]
    await ask('evaluation', (deps) => recordEvaluation({ pod: pod(deps), input: { split: 'train', results } }))
  }

  try {
    const claimInput = { claimId: `claim-${run.uid}`, runtimeVersion: '0.1.0', hostname: 'host', device: 'cpu' }
    const claimed = await ask('claim', (deps) => claimAttempt({ pod: pod(deps), input: claimInput }))
    if (run.isTerminating) throw new Ended(143)
    if (claimed.mode === 'train') await train(claimed.job_id, await startOf(claimed))
    await evaluate()
    return 0
  } catch (error) {
    if (error instanceof Ended) return error.exitCode
    // The real trainer exits with the same code. The invariants accept this cause only after bytes were damaged.
    if (error instanceof ServiceError) return 70
    throw error
  }

  async function startOf({ job_id: jobId, checkpoint }: Awaited<ReturnType<typeof claimAttempt>>) {
    if (!checkpoint) return { step: 0, weights: `job ${jobId}` }
    for (;;) {
      try {
        const weights = await store.storage.get(checkpoint.files[0]?.url ?? '')
        if (weights === null) throw new Error('the checkpoint that the attempt was given is not there')
        // The real trainer also refuses bytes that were damaged after a worker verified them.
        if (sha256Of(weights) !== checkpoint.files[0]?.sha256) throw new Ended(70)
        return { step: checkpoint.step, weights }
      } catch (error) {
        if (!(error instanceof Unreachable)) throw error
        await kernel().sleep(2000)
      }
    }
  }
}
