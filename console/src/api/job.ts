// The API's answers about jobs.
import type { components } from './types.ts'

type Schemas = components['schemas']

/** A job as a row of the list. */
export type JobBrief = Schemas['TrainingJobBriefs']['jobs'][number]
export type Job = Schemas['TrainingJob']
export type Progress = NonNullable<Job['progress']>
export type JobEvent = Schemas['TrainingJobEventList']['events'][number]
export type Attempt = Schemas['AttemptList']['attempts'][number]
export type Evaluation = Schemas['Evaluation']
export type EvaluatedRow = Evaluation['eval_results'][number]
