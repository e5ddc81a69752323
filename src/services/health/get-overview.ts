import { workKinds } from '../../domain/durable-work.ts'
import type { Maintenance } from '../../domain/wait.ts'
import type { AccountQueue, Backlog } from '../../repositories/backlog.ts'
import type { Replica, ServedModel } from '../../repositories/model-servers.ts'
import type { FailedWork, OperatorJob } from '../../repositories/operator-views.ts'
import type { ReportedWorker } from '../../repositories/workers.ts'
import { requireOperator } from '../admin/accounts.ts'
import type { AdminCtx } from '../context.ts'

const mostAccounts = 200
const mostWorkers = 100
const mostJobs = 100
const mostNext = 10

/** `adapters`: the tuned models that the replica holds; null when it does not answer. */
export type ServerOverview = Omit<ServedModel, 'replicas'> & { replicas: (Replica & { adapters: string[] | null })[] }

type Overview = {
  backlog: Backlog
  queues: AccountQueue[]
  /** Null when the cluster decides how many trainings run. */
  slots: number | null
  /** Null while new work starts. */
  maintenance: Maintenance | null
  /** Jobs that hold a slot, jobs that get the next ones, and jobs that have failed today (UTC). */
  holders: OperatorJob[]
  next: OperatorJob[]
  failures: OperatorJob[]
  /** Batches, evaluations and exports that have failed today, the newest failure first. */
  failedWork: FailedWork[]
  workers: ReportedWorker[]
  /** What the reapers of these workers have released, by kind. */
  reaped: Record<string, number>
  servers: ServerOverview[]
}

/** What an operator looks at first, over all accounts. @throws ServiceError invalid_token */
export async function getOverview({ admin }: { admin: AdminCtx }): Promise<Overview> {
  requireOperator(admin)
  const { database } = admin.deps
  const [backlog, queues, workers, servers, jobs] = await Promise.all([
    database.backlog.measure(),
    database.backlog.listQueues(mostAccounts),
    database.workers.list(mostWorkers),
    database.modelServers.listServed(),
    readJobs(database),
  ])
  const reported = workers.filter(({ isReporting }) => isReporting)
  return {
    backlog,
    queues,
    ...jobs,
    slots: reported[0]?.slots ?? null,
    workers,
    reaped: summed(workers.map(({ reaped }) => reaped)),
    servers: await Promise.all(servers.map((server) => withAdapters(admin, server))),
  }
}

async function readJobs({ operatorViews, installation }: AdminCtx['deps']['database']) {
  const today = new Date(new Date().toISOString().slice(0, 10))
  const [maintenance, holders, next, failures, work] = await Promise.all([
    installation.maintenance(),
    operatorViews.listHolders(mostJobs),
    operatorViews.listNext(mostNext),
    operatorViews.listFailures(today, mostJobs),
    Promise.all(workKinds.map((kind) => operatorViews.listFailedWork(kind, today, mostJobs))),
  ])
  const failedWork = work.flat().toSorted((a, b) => b.finishedAt.getTime() - a.finishedAt.getTime())
  return { maintenance, holders, next, failures, failedWork: failedWork.slice(0, mostJobs) }
}

async function withAdapters({ deps: { inference } }: AdminCtx, server: ServedModel): Promise<ServerOverview> {
  const replicas = server.replicas.map(async (replica) => ({
    ...replica,
    adapters: replica.isReporting ? await inference.adaptersOf(server, replica) : null,
  }))
  return { ...server, replicas: await Promise.all(replicas) }
}

function summed(counts: readonly Record<string, number>[]): Record<string, number> {
  const sums: Record<string, number> = {}
  for (const each of counts) for (const [name, count] of Object.entries(each)) sums[name] = (sums[name] ?? 0) + count
  return sums
}
