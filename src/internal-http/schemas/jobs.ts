import { z } from 'zod'
import { AttemptList, ListedEvent } from '../../http/anneal/schemas/training-job-records.ts'
import { queryInt, queryText } from '../../http/kit/params.ts'
import { JobSummary } from '../../http/lamini/schemas/job-resource.ts'
import { JobListQuery as UserJobListQuery, Status, Time } from '../../http/lamini/schemas/training-job.ts'
import { AccountPath } from './admin.ts'

export const JobsQuery = z.strictObject({
  account_id: queryText().pipe(AccountPath.shape.account_id).optional(),
  status: UserJobListQuery.shape.status,
  after: queryInt({ min: 1, max: 2 ** 31 - 1 }).optional(),
  limit: queryInt({ min: 1, max: 1000 }).default(100),
})

/** `slot_since` is null when the newest attempt holds no slot. */
export const OperatorJob = z.object({
  job_id: z.int(),
  display_name: z.string(),
  account_id: z.string(),
  account_name: z.string(),
  dataset_id: z.string(),
  dataset_name: z.string(),
  base_model: z.string(),
  status: Status,
  status_reason: z.string().nullable(),
  status_message: z.string().nullable(),
  created_at: Time,
  finished_at: Time.nullable(),
  attempt: z.int().nullable(),
  phase: z.string().nullable(),
  slot_since: Time.nullable(),
})

export const OperatorJobs = z.object({ jobs: z.array(OperatorJob), next: z.int().nullable() })

export const OperatorJobRecord = z.object({
  ...JobSummary.shape,
  account_id: z.string(),
  account_name: z.string(),
  status_reason: z.string().nullable(),
  status_message: z.string().nullable(),
  newest_attempts: AttemptList.shape.attempts,
  newest_events: z.array(ListedEvent),
})
