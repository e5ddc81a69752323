// What a fine-tune hears and answers while it runs. The descriptions stand in the Temporal UI.
import { CancellationScope, log, setHandler } from '@temporalio/workflow'
import type { AttemptPhase, TrainingJobStatus } from '../src/domain/training-job-status.ts'
import {
  cancelSignal,
  cancelUpdate,
  nextActionQuery,
  phaseSignal,
  progressQuery,
  resumeSignal,
  slotSignal,
  statusQuery,
  waitSignal,
} from './contract.ts'
import { activities } from './fine-tune-activities.ts'
import type { JobView } from './job-view.ts'

/**
 * `attempt`: the newest, 0 before the first. `status`: where the newest walk ended. `slotSignalled`: the attempt may have its slot now.
 * `next`: a sentence for operators. `endedCount`: attempts that have ended.
 */
export type State = {
  jobId: number
  generation: number
  attempt: number
  slotSignalled: boolean
  status: TrainingJobStatus | null
  phases: { attempt: number; phase: AttemptPhase }[]
  view: JobView
  next: string
  endedCount: number
}

export function handleSignals(state: State, cancelWork: () => void) {
  setHandler(
    cancelSignal,
    (signal) => {
      if (signal.generation === state.generation) cancelWork()
    },
    { description: 'From the service: a cancel was accepted. Operators use the update cancel, which accepts one.' },
  )
  setHandler(resumeSignal, (signal) => log.info('resumed', { generation: signal.generation }), {
    description: 'From the service, with the start of a later generation: this execution continues a job.',
  })
  setHandler(
    phaseSignal,
    ({ attempt, phase }) => {
      state.phases.push({ attempt, phase: phase as AttemptPhase })
    },
    { description: 'From the service: the trainer of the attempt has reached a phase.' },
  )
  setHandler(
    slotSignal,
    () => {
      state.slotSignalled = true
    },
    { description: 'Asks for a slot again. Safe to send: without a free slot the job waits on.' },
  )
  setHandler(
    waitSignal,
    ({ attempt, reason, message }) => {
      // A late signal says nothing about an attempt that has its program, or about the next attempt.
      if (attempt !== state.attempt || state.status !== 'QUEUED') return
      state.view.show({ status: 'QUEUED', attempt, reason, message })
    },
    { description: 'From the service: why the attempt waits, for AnnealReason and the details. Decides nothing.' },
  )
}

export function answerOperators(state: State) {
  const { jobId, generation, view } = state
  setHandler(statusQuery, () => ({ ...view.current(), generation }), {
    description: 'The status of the job, with the reason and the sentence that explain it.',
  })
  setHandler(progressQuery, () => ({ attempt: state.attempt, endedAttempts: state.endedCount, since: view.since() }), {
    description: 'The newest attempt, and when the job got each status. Steps are in the heartbeat of watchAttempt.',
  })
  setHandler(nextActionQuery, () => state.next, { description: 'What the workflow does next, as a sentence.' })
  // The relay delivers the accepted cancel as it delivers the API's.
  setHandler(
    cancelUpdate,
    () => CancellationScope.nonCancellable(() => activities.requestCancel({ jobId, generation })),
    { description: 'Cancels the job, as the user’s cancel does. The answer says what was accepted.' },
  )
}
