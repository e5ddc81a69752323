// Causes of an attempt's end and what follows each, as one table. docs/reliability.md shows it to users and operators.

/** What follows an attempt that ended with a cause before its model was saved. */
type Policy = {
  /** Users read it when no more exact message is known. */
  sentence: string
} & (
  | {
      again: false
      /** The reason with which a job that has a usable checkpoint completes partially; null fails the job. */
      publishesAs: 'deadline' | 'grader_failed' | null
    }
  | {
      again: true
      /** Whether a relaunch raises `resume_count`. */
      counts: boolean
      /** Whether the wait grows with each end in a row without a new checkpoint. */
      backsOff: boolean
      /** Ends in a row without a new checkpoint that fail the job: ten of `any` cause, or two of the `same` cause. */
      stopsAfter: 'any' | 'same'
    }
)

const interruption = { again: true, counts: true, backsOff: true, stopsAfter: 'any' } as const
const free = { again: true, counts: false, backsOff: true, stopsAfter: 'any' } as const
const fault = { again: true, counts: true, backsOff: true, stopsAfter: 'same' } as const
const final = { again: false, publishesAs: null } as const

/** The workflow reads this table: a changed policy of an existing cause needs `patched`. */
const attemptPolicies = {
  finished: { ...fault, sentence: 'The program finished.' },

  killed: { ...interruption, sentence: 'A signal ended the program.' },
  lost: { ...interruption, sentence: 'The process vanished without an exit code.' },
  preempted: { ...interruption, sentence: 'Work with a higher priority preempted it.' },
  evicted: { ...interruption, sentence: 'The node ran short of memory, disk or process ids and evicted it.' },
  node_lost: { ...interruption, sentence: 'The node that it ran on stopped responding.' },
  peer_lost: { ...interruption, sentence: 'Another process of the same training run was lost.' },
  time_slice: { ...interruption, backsOff: false, sentence: 'Its time slice ended while other jobs waited.' },

  // Its job ends as CANCELLED, so no attempt follows.
  cancelled: { ...free, sentence: 'The job was cancelled or paused.' },
  fenced: { ...free, sentence: 'The service refused its writes: a newer launch has replaced it.' },
  control_plane: { ...free, sentence: 'The cluster removed the run before its program started.' },

  // The trainer has waited for nothing else, and has saved a checkpoint.
  grader_away: { ...free, sentence: 'The graders did not answer.' },
  sampler_away: { ...free, sentence: 'The model server that samples the answers did not answer.' },

  out_of_memory: {
    ...fault,
    sentence: 'The program ran out of memory. Use a smaller batch size (batch_size) or shorter rows (max_length).',
  },
  code_error: { ...fault, sentence: "The program ended with an error. The job's logs show it." },
  stalled: { ...fault, sentence: 'The program reported no progress for too long and was stopped.' },

  out_of_disk: { ...final, sentence: 'The program wrote more than its share of disk.' },
  data_error: { ...final, sentence: 'The trainer cannot read the training data.' },
  model_unavailable: { ...final, sentence: 'The base model cannot be found or loaded.' },
  image_unavailable: { ...final, sentence: 'The container image cannot be pulled.' },
  unsupported_runtime: { ...final, sentence: 'The version of the program does not match the version of this service.' },
  grader_failed: {
    again: false,
    publishesAs: 'grader_failed',
    sentence: 'The grader gave no scores to learn from.',
  },
  deadline: { again: false, publishesAs: 'deadline', sentence: 'The job has reached its maximum run time.' },
} as const satisfies Record<string, Policy>

/** Also the `status_reason` that users read. */
export type AttemptCause = keyof typeof attemptPolicies

export const attemptCauses = Object.keys(attemptPolicies) as AttemptCause[]

export const policyOf = (cause: AttemptCause): Policy => attemptPolicies[cause]

/** Whether something outside the program ended it. */
export function isInterruption(cause: AttemptCause): boolean {
  const policy = policyOf(cause)
  return policy.again && policy.stopsAfter === 'any'
}

/** The causes for which a worker ends a running attempt. */
export type StopCause = Extract<AttemptCause, 'time_slice' | 'stalled' | 'deadline'>

/** Exit codes of the runtime's programs, by cause. `docs/internal-api.md` has the table. */
export const exitCodes = {
  finished: 0,
  data_error: 65,
  model_unavailable: 69,
  code_error: 70,
  out_of_memory: 71,
  grader_failed: 72,
  sampler_away: 74,
  peer_lost: 75,
  grader_away: 76,
  fenced: 77,
  unsupported_runtime: 78,
  killed: 143,
} as const satisfies Partial<Record<AttemptCause, number>>

/** @param exitCode null when nobody saw it. A signal counts as a kill, as does any code that the runtime does not use. */
export function causeOfExit(exitCode: number | null): AttemptCause {
  if (exitCode === null) return 'lost'
  const causes = Object.keys(exitCodes) as (keyof typeof exitCodes)[]
  return causes.find((cause) => exitCodes[cause] === exitCode) ?? 'killed'
}
