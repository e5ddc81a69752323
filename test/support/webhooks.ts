// What tests of webhooks share: an account with ended jobs, receivers, and moves written as the workflow writes them.
import assert from 'node:assert/strict'
import pg from 'pg'
import type { TrainingJobStatus } from '../../src/domain/training-job-status.ts'
import { sampleRows } from './rows.ts'
import { connection, openAccount, type Api } from './stack.ts'
import { startReceiver } from './webhook-receiver.ts'

export type Webhook = {
  id: string
  url: string
  event_types: string[]
  secrets: { id: string; expires_at: string | null }[]
  last_success_at: string | null
  disabled_at: string | null
  disabled_reason: string | null
}
export type Made = Webhook & { secret: string }
export type Delivery = {
  id: string
  event: { type: string; data: { job_id: number; status: string } }
  state: string
  next_attempt_at: string | null
  attempts: { at: string; status_code: number | null; error: string | null }[]
}
export type Page = { deliveries: Delivery[]; next: string | null }

/** An ended job: its further moves are those that a test writes. */
export async function endedJob(of: Api): Promise<number> {
  const id = await of.train({ data: sampleRows })
  await of.post(`/v1/train/jobs/${id}/cancel`)
  await of.untilStatus(id, 'CANCELLED')
  return id
}

export async function openWebhookAccount({ jobCount = 1 } = {}) {
  const api = await openAccount()
  const jobs: number[] = []
  while (jobs.length < jobCount) jobs.push(await endedJob(api))
  const client = new pg.Client({ connectionString: connection().databaseUrl })
  await client.connect()
  const receivers: Awaited<ReturnType<typeof startReceiver>>[] = []
  return {
    api,
    client,
    job: (at = 0) => jobs[at] ?? assert.fail('no job'),

    move: async (jobId: number, ...statuses: TrainingJobStatus[]) => {
      for (const status of statuses)
        await client.query(`insert into job_events (job_id, kind, status, actor) values ($1, 'status', $2, 'test')`, [
          jobId,
          status,
        ])
    },

    receiver: async (...answer: Parameters<typeof startReceiver>) => {
      const started = await startReceiver(...answer)
      receivers.push(started)
      return started
    },

    create: (body: object) => api.post<Made>('/v1/webhooks', body),
    find: (id: string) => api.get<Webhook>(`/v1/webhooks/${id}`),
    log: async (id: string) => (await api.get<Page>(`/v1/webhooks/${id}/deliveries`)).deliveries,

    close: async () => {
      for (const receiver of receivers) await receiver.stop()
      await client.end()
    },
  }
}
