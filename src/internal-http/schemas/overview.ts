import { z } from 'zod'
import { workKinds } from '../../domain/durable-work.ts'
import { Time } from '../../http/lamini/schemas/training-job.ts'
import { OperatorJob } from './jobs.ts'
import { ShownMaintenance } from './maintenance.ts'

export const OverviewAnswer = z.object({
  outbox: z.object({ messages: z.int(), age_seconds: z.number() }),
  attempts: z.object({ waiting: z.int(), running: z.int(), releases: z.int(), release_age_seconds: z.number() }),
  webhook_lag_seconds: z.number(),
  slots: z.int().nullable(),
  maintenance: ShownMaintenance,
  holders: z.array(OperatorJob),
  next: z.array(OperatorJob),
  failures: z.array(OperatorJob),
  failed_work: z.array(
    z.object({
      kind: z.enum(workKinds),
      id: z.string(),
      summary: z.string(),
      account_id: z.string(),
      account_name: z.string(),
      message: z.string().nullable(),
      finished_at: Time,
    }),
  ),
  queues: z.array(
    z.object({
      account_id: z.string(),
      name: z.string(),
      priority: z.string(),
      waiting: z.int(),
      running: z.int(),
      waiting_seconds: z.number(),
    }),
  ),
  workers: z.array(
    z.object({
      id: z.string(),
      host: z.string(),
      pid: z.int(),
      reporting: z.boolean(),
      polling: z.boolean(),
      activities: z.int(),
      started_at: Time,
      seen_at: Time,
    }),
  ),
  reaped: z.array(z.object({ what: z.string(), count: z.int() })),
  model_servers: z.array(
    z.object({
      base_model: z.string(),
      state: z.string(),
      reason: z.string().nullable(),
      message: z.string().nullable(),
      last_used_at: Time,
      replicas: z.array(
        z.object({ instance: z.string(), reporting: z.boolean(), adapters: z.array(z.string()).nullable() }),
      ),
    }),
  ),
})
