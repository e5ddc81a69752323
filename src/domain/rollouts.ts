// The answers that a reinforcement job sampled, with their rewards: stored files, and as they are graded and shown.
import type { ArtifactFile } from './training-job.ts'

/** `train`: answers that an update learns from. `held_out`: those of a validation. */
export const rolloutSplits = ['train', 'held_out'] as const
export type RolloutSplit = (typeof rolloutSplits)[number]

export type RolloutPart = 'samples' | 'rewards'

/** Each is an artifact of its own. */
export const rolloutFiles = {
  train: { samples: 'samples.jsonl', rewards: 'rewards.jsonl' },
  held_out: { samples: 'valid_samples.jsonl', rewards: 'valid_rewards.jsonl' },
} as const satisfies Record<RolloutSplit, Record<RolloutPart, string>>

export const rolloutFileNames = rolloutSplits.flatMap((split) => Object.values(rolloutFiles[split]))

export const isRolloutFile = (name: string | undefined): boolean =>
  (rolloutFileNames as (string | undefined)[]).includes(name)

/** The name under which model servers load the policy of a job after so many updates. */
export const policyName = (jobId: number, step: number) => `policy-${jobId}-${step}`

/** Files of one step, in the order of their making. */
export type StepRollouts = { step: number; files: ArtifactFile[] }

/** Why a sample has no score. */
export type GradeError = { grader: string; kind: string; message: string }

/** `reward`: null where the sample is not scored. `grades`: by grader. */
export type Grade = { reward: number | null; grades: Record<string, number | null>; error: GradeError | null }

/** `index`: the place of the answer among those to its prompt. */
export type SamplePlace = { row: number; index: number }
