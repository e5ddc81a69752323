// Training jobs, their attempts, artifacts and events.
import type { AttemptCause } from './attempt-cause.ts'
import type { CatalogueEntry } from './catalogue.ts'
import type { DataSource, PreparedSource } from './data-sources.ts'
import type { Columns } from './dataset-report.ts'
import type { NameParts } from './display-name.ts'
import type { EvalSample } from './eval-run.ts'
import type { Grader, Scores } from './grader.ts'
import type { Learned } from './learned.ts'
import type { JobScores } from './model-evaluation.ts'
import type { TrackerRequest } from './tracker.ts'
import { notesWithoutHeldOut, type TrainingArgs } from './training-args.ts'
import type { MethodName } from './method-table.ts'
import type { RowCounts } from './row-tokens.ts'
import type { ModelShape } from './training-memory.ts'
import type { TrainingMethod } from './training-method.ts'
import { isResumable, type AttemptPhase, type TrainingJobStatus } from './training-job-status.ts'

/** Frozen when the job is accepted. */
export type TrainingSpec = {
  baseModel: Pick<CatalogueEntry, 'name' | 'source' | 'contextLength' | 'resources'> & { sha256: string | null }
  args: TrainingArgs
  /** Names of the arguments that the request gave; the others are defaults. */
  givenArgs: string[]
  gpus: number | null
  nodes: number
  /** Key of the rows. The job's preparation copies them. The first one's where there are several data sets. */
  dataKey: string
  /** Several data sets, in the order of the request; absent for one. */
  sources?: DataSource[]
  /** Key of the caller's evaluation rows; null evaluates on rows that the preparation sets aside. */
  evaluationKey: string | null
  /** How the model is trained; absent for the method supervised. */
  method?: TrainingMethod
  /** Of a model whose GPU memory is known, unless the request forces the job: the check of the rows compares them. */
  shape?: ModelShape
  /** Bad training rows are left out. A bad row fails the job when absent. */
  skipBadRows?: true
  /** How the model is evaluated; absent fields have their defaults. */
  evaluation?: EvaluationSettings
  /** Stored with the job and returned with it. */
  metadata?: Record<string, string>
  /** The tuned model whose adapter the training continues; absent when it begins from the base. */
  startFrom?: StartModel
  /** What of the request has no effect or is done in another way, as the answer to the request told it. */
  warnings?: string[]
  /** Where the series are sent. A trigger of the database makes a row of each. */
  trackers?: TrackerRequest[]
}

export type EvaluationSettings = {
  /** Any but `model`. */
  graders?: Grader[]
  /** The first rows that are answered; all when absent. */
  maxRows?: number
  /** The most tokens of an answer; twice the longest expected one when absent. */
  maxTokens?: number
  /** Whether rows without messages are asked as chats; when absent, as the model learned. */
  asChat?: boolean
  /** The system message of these chats; the learned one when absent. */
  system?: string
}

export type StartModel = Pick<TunedModel, 'files' | 'jobId'> & { modelName: string }

export type DataSplit = 'held_out' | 'train'

export type DataFile = { key: string; sizeBytes: number; sha256: string; rowCount: number }

/** `lines`: the line of the upload that each row comes from. Absent in those of older releases. */
export type RowsFile = DataFile & { lines?: DataFile }

/** The checked rows of a job, under keys that no presigned URL can write. */
export type PreparedData = {
  train: RowsFile
  evaluation: RowsFile & { split: DataSplit }
  /** The rows that are left out, a `BadRow` a line; absent when there are none. */
  skipped?: DataFile
  /** The columns that were read; absent where the names of the fields say what they hold. */
  columns?: Columns
  /** ETag of the upload that the rows come from; those of several have a space between. */
  sourceEtag: string
  /** Of several data sets, in their order; absent for one. */
  sources?: PreparedSource[]
  /** The method that the rows are for; supervised when absent. */
  method?: MethodName
  /** `rowReader` of the release that read them. */
  reader: number
  /** Absent in those of older releases. */
  learned?: Learned
}

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
  /** Set when the accepted cancel is a pause. A pause differs from a cancel in its name only. */
  pauseRequestedAt: Date | null
  modelName: string | null
  /** The id in the installation where the job ran. Absent or null for a job of this one. */
  importedJobId?: number | null
  createdAt: Date
  finishedAt: Date | null
}

/** Whether the job has ended in a way that a resume can go on from, and has resumes left. */
export const hasResumeLeft = ({
  status,
  resumeCount,
  resumeLimit,
}: Pick<TrainingJob, 'status' | 'resumeCount' | 'resumeLimit'>) => isResumable(status) && resumeCount < resumeLimit

/** Such a job fails again while its data is the same. */
export const isFailedByData = ({ status, statusReason }: Pick<TrainingJob, 'status' | 'statusReason'>) =>
  status === 'FAILED' && statusReason === 'data_error'

/** What of the request has no effect or is done in another way, as far as it is known. */
export function warningsOf({ spec, preparedData }: Pick<TrainingJob, 'spec' | 'preparedData'>): string[] {
  const ofData = preparedData?.evaluation.split === 'train' ? notesWithoutHeldOut(spec.args) : []
  return [...(spec.warnings ?? []), ...ofData.map(({ message }) => message)]
}

/** One job in the list. */
export type TrainingJobSummary = Pick<
  TrainingJob,
  'id' | 'status' | 'createdAt' | 'modelName' | 'customModelName' | 'resumeCount' | 'datasetId' | 'resumeLimit'
>

/** How a job ends. The workflow closes as Completed, Canceled or Failed accordingly. */
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
  /** When the artifact that the attempt starts from was saved. */
  fromAt: Date | null
  lastStep: number | null
  /** Step of the newest checkpoint or model that the attempt committed. */
  savedStep: number | null
  savedAt: Date | null
  /** Training rows that were longer than max_length. */
  truncatedRows: number | null
  /** Null until the trainer has counted its rows. */
  rowCounts: RowCounts | null
  reportedCause: string | null
  cause: AttemptCause | null
  exitCode: number | null
  message: string | null
  createdAt: Date
  grantedAt: Date | null
  claimedAt: Date | null
  /** When the first phase after LOADING DATA began. */
  workingAt: Date | null
  /** Time of the newest claim, phase or step. */
  heardAt: Date | null
  endedAt: Date | null
  fencedAt: Date | null
  releasedAt: Date | null
}

/** Every object of the prepared rows. */
export const preparedFiles = ({ train, evaluation, skipped }: PreparedData): DataFile[] =>
  [train, train.lines, evaluation, evaluation.lines, skipped].filter((file) => file !== undefined)

export const artifactKinds = ['checkpoint', 'model', 'rollouts', 'policy'] as const
export type ArtifactKind = (typeof artifactKinds)[number]
export type ArtifactFile = { name: string; key: string; sizeBytes: number; sha256: string }

/** The files that serving needs; a checkpoint also holds the optimizer's state. */
export const servedFilesOf = (files: readonly ArtifactFile[]) =>
  files.filter(({ name }) => ['adapter_model.safetensors', 'adapter_config.json', 'anneal.json'].includes(name))

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
  /** Null for a model of an older release. */
  learned?: Learned | null
}

/** A model's position in the list: microseconds since 1970, then its name. */
export type ModelPlace = { createdMicros: string; name: string }

/** `aliases` are its names with a version or an alias, such as `support-bot@3` and `support-bot@production`. */
export type ListedModel = Pick<TunedModel, 'baseModel' | 'createdAt' | 'learned'> &
  ModelPlace &
  NameParts & { aliases: string[] }

/** A published model with its origin. `version` is null without a custom name. */
export type ModelVersion = {
  version: number | null
  modelName: string
  jobId: number
  status: 'COMPLETED' | 'PARTIALLY COMPLETED'
  baseModel: string
  datasetId: string
  learned: Learned | null
  artifactId: string
  evaluatedRows: number
  /** The graders of the job's request. */
  graders: Grader[] | null
  /** Null until they are computed. */
  scores: JobScores | null
  /** The tuned model that its training began from. */
  parent: { modelName: string; name: string | null; version: number | null } | null
  createdAt: Date
}

export type ModelAlias = { alias: string; version: number; movedAt: Date }

/** `output_text`: the text without the function calls, where the answer has some. */
type EvaluatedSample = Pick<EvalSample, 'output_tools' | 'finish_reason'> & { output_text?: string }

export type EvaluationRow = {
  split: DataSplit
  input: string
  expected: string
  tuned: string
  base: string
  /** Whether each model finds the better answer of a pair likelier. Absent for a row that is no pair. */
  prefersChosen?: { tuned: boolean; base: boolean }
  /** Graders read these fields of a prompt. */
  item?: Record<string, unknown>
  /** Graders read this of both answers to a prompt, beside their text. Rows of an earlier release have none. */
  samples?: { tuned: EvaluatedSample; base: EvaluatedSample }
  /** A prompt has scores once its answers are graded. */
  scores?: { tuned: Scores; base: Scores }
}

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
