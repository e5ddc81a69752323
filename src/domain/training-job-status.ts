// The states of a training job and the allowed moves between them.

export const trainingJobStatuses = [
  'CREATED',
  'QUEUED',
  'LOADING DATA',
  'TRAINING MODEL',
  'SAVING MODEL',
  'EVALUATING MODEL',
  'COMPLETED',
  'PARTIALLY COMPLETED',
  'CANCELLED',
  'FAILED',
] as const
export type TrainingJobStatus = (typeof trainingJobStatuses)[number]

/** A job goes back to QUEUED when it was interrupted or resumed. */
const transitions = {
  CREATED: ['QUEUED', 'CANCELLED', 'FAILED'],
  QUEUED: ['LOADING DATA', 'CANCELLED', 'FAILED', 'PARTIALLY COMPLETED'],
  'LOADING DATA': ['TRAINING MODEL', 'QUEUED', 'CANCELLED', 'FAILED', 'PARTIALLY COMPLETED'],
  'TRAINING MODEL': ['SAVING MODEL', 'QUEUED', 'CANCELLED', 'FAILED', 'PARTIALLY COMPLETED'],
  'SAVING MODEL': ['EVALUATING MODEL', 'QUEUED', 'CANCELLED', 'FAILED', 'PARTIALLY COMPLETED'],
  'EVALUATING MODEL': ['COMPLETED', 'QUEUED', 'CANCELLED', 'FAILED', 'PARTIALLY COMPLETED'],
  COMPLETED: [],
  'PARTIALLY COMPLETED': ['QUEUED'],
  CANCELLED: ['QUEUED'],
  FAILED: ['QUEUED'],
} as const satisfies Record<TrainingJobStatus, readonly TrainingJobStatus[]>

/** The phases of an attempt, in order. */
export const attemptPhases = ['LOADING DATA', 'TRAINING MODEL', 'SAVING MODEL', 'EVALUATING MODEL'] as const
export type AttemptPhase = (typeof attemptPhases)[number]

const terminal: readonly TrainingJobStatus[] = ['COMPLETED', 'PARTIALLY COMPLETED', 'CANCELLED', 'FAILED']
const resumable: readonly TrainingJobStatus[] = ['PARTIALLY COMPLETED', 'CANCELLED', 'FAILED']

export const openStatuses = trainingJobStatuses.filter((status) => !terminal.includes(status))

export const isTerminal = (status: TrainingJobStatus) => terminal.includes(status)
export const isResumable = (status: TrainingJobStatus) => resumable.includes(status)

export function mayMove(from: TrainingJobStatus, to: TrainingJobStatus): boolean {
  const next: readonly TrainingJobStatus[] = transitions[from]
  return next.includes(to)
}

/** The phases after `from` up to and including `to`; empty when `to` is not ahead. */
export function phasesBetween(from: TrainingJobStatus, to: AttemptPhase): AttemptPhase[] {
  const start = from === 'QUEUED' ? -1 : attemptPhases.findIndex((phase) => phase === from)
  if (start === -1 && from !== 'QUEUED') return []
  return attemptPhases.slice(start + 1, attemptPhases.indexOf(to) + 1)
}

/** Accepts CANCELED too, the spelling of the original platform's specification. */
export function parseStatus(text: string): TrainingJobStatus | undefined {
  const spelled = text === 'CANCELED' ? 'CANCELLED' : text
  return trainingJobStatuses.find((status) => status === spelled)
}
