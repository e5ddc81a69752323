// What a training job is made of.
import type { AttemptCause } from './attempt-cause.ts'
import type { CatalogueEntry } from './catalogue.ts'
import type { TrainingArgs } from './training-args.ts'
import type { AttemptPhase, TrainingJobStatus } from './training-job-status.ts'

/** Frozen at acceptance. */
export type TrainingSpec = {
  baseModel: Pick<CatalogueEntry, 'name' | 'source' | 'resources' | 'contextLength'> & { sha256: string | null }
  args: TrainingArgs
  gpus: number | null
  nodes: number
  /** Where the rows are; the job's own copy is made from it when the job is prepared. */
  dataKey: string
  /** Rows given to evaluate on, instead of set-aside ones. */
  evaluationKey: string | null
  /** What the caller wants to be told again. */
  metadata?: Record<string, string>
}

export type DataSplit = 'held_out' | 'train'

export type DataFile = { key: string; sizeBytes: number; sha256: string; rowCount: number }

/** The checked rows of a job, under keys that no issued URL can write. */
export type PreparedData = { train: DataFile; evaluation: DataFile & { split: DataSplit } }

export type TrainingJob = {
  id: number
  accountId: string
  datasetId: string
  datasetVersionId: string
  baseModel: string
  customModelName: string | null
  isPublic: boolean
  status: TrainingJobStatus
  statusReason: string | null
  statusMessage: string | null
  spec: TrainingSpec
  specHash: string
  preparedData: PreparedData | null
  generation: number
  currentAttempt: number
  resumeCount: number
  resumeLimit: number
  cancelRequestedAt: Date | null
  /** The accepted cancel was a pause: nothing differs but what it is called. */
  pauseRequestedAt: Date | null
  modelName: string | null
  createdAt: Date
  finishedAt: Date | null
}

/** A line of the list. */
export type TrainingJobSummary = Pick<
  TrainingJob,
  'id' | 'status' | 'createdAt' | 'modelName' | 'customModelName' | 'resumeCount' | 'datasetId' | 'resumeLimit'
>

/** How a job ends; the workflow closes as Completed, Canceled or Failed accordingly. */
export type JobEnding = {
  status: 'COMPLETED' | 'PARTIALLY COMPLETED' | 'CANCELLED' | 'FAILED'
  reason: string | null
  message: string | null
  modelName: string | null
}

export type AttemptMode = 'train' | 'evaluate'

export type Attempt = {
  id: string
  jobId: number
  number: number
  generation: number
  ordinal: number
  accountId: string
  mode: AttemptMode
  runName: string
  runUid: string | null
  claimId: string | null
  phase: AttemptPhase | null
  fromArtifactId: string | null
  fromStep: number
  /** When the artifact that it starts from was saved. */
  fromAt: Date | null
  lastStep: number | null
  /** Of the newest checkpoint, or the model, that it committed. */
  savedStep: number | null
  savedAt: Date | null
  reportedCause: string | null
  cause: AttemptCause | null
  exitCode: number | null
  message: string | null
  createdAt: Date
  grantedAt: Date | null
  claimedAt: Date | null
  /** Its first phase beyond LOADING DATA. */
  workingAt: Date | null
  /** Its newest sign of progress: claim, phase or step. */
  heardAt: Date | null
  endedAt: Date | null
  fencedAt: Date | null
  releasedAt: Date | null
}

/** Seconds for times, own-step loss per target token, cumulative floating-point operations. */
export type TrainingStep = {
  step: number
  loss: number
  learning_rate: number
  epoch: number
  iter_time: number
  flops: number
  remaining_time: number
}

export type ArtifactKind = 'checkpoint' | 'model'
export type ArtifactFile = { name: string; key: string; sizeBytes: number; sha256: string }
export type Artifact = {
  id: string
  jobId: number
  attempt: number
  kind: ArtifactKind
  step: number
  specHash: string
  files: ArtifactFile[]
  createdAt: Date
  committedAt: Date | null
  verifiedAt: Date | null
}

export type TunedModel = {
  name: string
  accountId: string
  jobId: number
  artifactId: string
  baseModel: string
  files: ArtifactFile[]
  createdAt: Date
}

/** Where a model stands in the list: microseconds since 1970, then its name. */
export type ModelPlace = { createdMicros: string; name: string }

export type ListedModel = Pick<TunedModel, 'jobId' | 'baseModel' | 'createdAt'> & ModelPlace

export type EvaluationRow = { split: DataSplit; input: string; expected: string; tuned: string; base: string }

export type JobEvent = {
  id: string
  at: Date
  kind: 'status' | 'command' | 'attempt' | 'note'
  status: TrainingJobStatus | null
  attempt: number | null
  reason: string | null
  message: string | null
  actor: string
}
