import { wireTime } from '../../domain/timestamps.ts'
import { defineRoute } from '../../http/kit/route.ts'
import type { ReportedWorker } from '../../repositories/workers.ts'
import { getOverview, type ServerOverview } from '../../services/health/get-overview.ts'
import { operatorJobOf } from '../operator-job.ts'
import { OverviewAnswer } from '../schemas/overview.ts'
import { shownMaintenance } from './maintenance.ts'

export const overviewRoutes = [
  defineRoute({
    name: 'get_overview',
    method: 'get',
    path: '/internal/v1/admin/overview',
    summary: 'Get the queue, slots, workers, model servers and outbox of the whole service',
    access: 'admin',
    response: OverviewAnswer,
    async handle({ caller: admin }) {
      const { backlog, queues, slots, workers, reaped, servers, ...jobs } = await getOverview({ admin })
      return {
        outbox: { messages: backlog.outboxMessages, age_seconds: backlog.outboxAgeSeconds },
        attempts: {
          waiting: backlog.attemptsWaiting,
          running: backlog.attemptsRunning,
          releases: backlog.releases,
          release_age_seconds: backlog.releaseAgeSeconds,
        },
        webhook_lag_seconds: backlog.webhookLagSeconds,
        slots,
        maintenance: shownMaintenance(jobs.maintenance),
        holders: jobs.holders.map(operatorJobOf),
        next: jobs.next.map(operatorJobOf),
        failures: jobs.failures.map(operatorJobOf),
        failed_work: jobs.failedWork.map(({ accountId, accountName, finishedAt, ...work }) => ({
          ...work,
          account_id: accountId,
          account_name: accountName,
          finished_at: wireTime(finishedAt),
        })),
        queues: queues.map(({ accountId, waitingSeconds, ...queue }) => ({
          account_id: accountId,
          ...queue,
          waiting_seconds: waitingSeconds,
        })),
        workers: workers.map(shownWorker),
        reaped: Object.entries(reaped).map(([what, count]) => ({ what, count })),
        model_servers: servers.map(shownServer),
      }
    },
  }),
]

const shownWorker = ({ id, host, pid, isReporting, isPolling, activityCount, startedAt, seenAt }: ReportedWorker) => ({
  ...{ id, host, pid },
  reporting: isReporting,
  polling: isPolling,
  activities: activityCount,
  started_at: wireTime(startedAt),
  seen_at: wireTime(seenAt),
})

const shownServer = ({ baseModel, state, reason, message, lastUsedAt, replicas }: ServerOverview) => ({
  base_model: baseModel,
  ...{ state, reason, message },
  last_used_at: wireTime(lastUsedAt),
  replicas: replicas.map(({ instance, isReporting, adapters }) => ({ instance, reporting: isReporting, adapters })),
})
