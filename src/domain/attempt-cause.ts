// Why an attempt ended, and what follows from it: one table. docs/reliability.md shows it to users and operators.

/** What follows an attempt that ended so before its model was saved. */
type Policy = {
  /** The way users read it, where nothing more exact is known. */
  sentence: string
} & (
  | {
      again: false
      /** How a job with a usable checkpoint ends instead of failing. */
      publishesAs: 'deadline' | null
    }
  | {
      again: true
      /** Whether `resume_count` is raised. */
      counts: boolean
      /** Waits longer with each end in a row that brought no new checkpoint. */
      backsOff: boolean
      /** Whose ends in a row, without a new checkpoint, stop the job: `any` after ten, those of the `same` cause after two. */
      stopsAfter: 'any' | 'same'
    }
)

const interruption = { again: true, counts: true, backsOff: true, stopsAfter: 'any' } as const
const free = { again: true, counts: false, backsOff: true, stopsAfter: 'any' } as const
const fault = { again: true, counts: true, backsOff: true, stopsAfter: 'same' } as const
const final = { again: false, publishesAs: null } as const

/** Changing an answer for a cause that exists needs `patched`: the workflow asks this table. */
const attemptPolicies = {
  finished: { ...fault, sentence: 'Finished.' },

  killed: { ...interruption, sentence: 'The program was ended by a signal.' },
  lost: { ...interruption, sentence: 'Nothing of it is left, and nobody saw it end.' },
  preempted: { ...interruption, sentence: 'Work of a higher priority took its place.' },
  evicted: { ...interruption, sentence: 'Its node ran short of something and moved it away.' },
  node_lost: { ...interruption, sentence: 'The node it ran on no longer answers.' },
  peer_lost: { ...interruption, sentence: 'Another of the processes that train together was lost.' },
  time_slice: { ...interruption, backsOff: false, sentence: 'Its time slice ended while others waited.' },

  fenced: { ...free, sentence: 'It was refused: another launch had taken its place.' },
  control_plane: { ...free, sentence: 'The cluster removed it before its program ran.' },

  out_of_memory: { ...fault, sentence: 'It ran out of memory.' },
  code_error: { ...fault, sentence: 'The program ended with an error.' },
  stalled: { ...fault, sentence: 'It made no progress and was ended.' },

  data_error: { ...final, sentence: 'The data cannot be trained on.' },
  model_unavailable: { ...final, sentence: 'The base model cannot be found or loaded.' },
  image_unavailable: { ...final, sentence: 'The image of the program cannot be fetched.' },
  unsupported_runtime: { ...final, sentence: 'The program is of another version than this service.' },
  deadline: { again: false, publishesAs: 'deadline', sentence: 'The time that the job may run is used up.' },
} as const satisfies Record<string, Policy>

/** Each is also the `status_reason` that users read. */
export type AttemptCause = keyof typeof attemptPolicies

export const attemptCauses = Object.keys(attemptPolicies) as AttemptCause[]

export const policyOf = (cause: AttemptCause): Policy => attemptPolicies[cause]

/** Ended by something outside of it: no judgement of its program. */
export function isInterruption(cause: AttemptCause): boolean {
  const policy = policyOf(cause)
  return policy.again && policy.stopsAfter === 'any'
}

/** Why a worker itself ends an attempt that runs. */
export type StopCause = Extract<AttemptCause, 'time_slice' | 'stalled' | 'deadline'>

/** Exit codes of the trainer; `docs/internal-api.md` has the table. */
export function causeOfExit(exitCode: number | null): AttemptCause {
  switch (exitCode) {
    case 0:
      return 'finished'
    case 65:
      return 'data_error'
    case 69:
      return 'model_unavailable'
    case 70:
      return 'code_error'
    case 71:
      return 'out_of_memory'
    case 75:
      return 'peer_lost'
    case 77:
      return 'fenced'
    case 78:
      return 'unsupported_runtime'
    case null:
      return 'lost'
    default:
      return 'killed'
  }
}
