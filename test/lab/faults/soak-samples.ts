// Measures everything that could grow, from outside: rows, objects, processes and their memory, Temporal's histories.
import { Client, Connection } from '@temporalio/client'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { Client as Postgres } from 'pg'
import { fineTuneWorkflowId, modelServerName } from '../../../src/domain/identifiers.ts'
import { retentionWorkflowId, runNowSignal } from '../../../workflows/contract.ts'
import { signalProcess } from '../../support/signal-process.ts'
import { livingPrograms } from './programs.ts'
import { servers } from './stack.ts'
import type { World } from './world.ts'

/** These figures grow with each job by design. All others have to stop growing. */
const kept = [
  ...['training_jobs', 'attempts', 'job_events', 'training_steps', 'evaluations', 'models', 'audit_events'],
  // Usage is counted by model, and each of these jobs makes one.
  ...['dataset_versions', 'artifacts: model', 'usage_days'],
].map((table) => `rows of ${table}`)
const keptBytes = ['objects', 'bytes of objects', 'bytes of the database', "bytes of Temporal's database"]
export const isKept = (name: string) => kept.includes(name) || keptBytes.includes(name)

/** Temporal suggests a new run at 4,096 events; steps under way then still add some. */
const bounds = new Map([['events of the model server', 5000]])
export const boundOf = (name: string) => bounds.get(name)

const collectionMs = 2000

/** The `life` of a figure that starts again with its process. */
export type Sample = { name: string; value: number; life: string | number }
export type Sampler = Awaited<ReturnType<typeof openSampler>>

export async function openSampler(world: World) {
  const { stack } = world
  const connection = await Connection.connect({ address: stack.temporalAddress })
  const temporal = new Client({ connection })
  return {
    async measure(): Promise<Sample[]> {
      collectGarbage(stack)
      await sleep(collectionMs)
      const lists = await Promise.all([rows(stack), histories(temporal, world)])
      return [...lists.flat(), ...objects(stack.home.s3), ...processes(world), ...folders(world)]
    },
    /** Retention itself runs only once an hour. */
    keepHouse: () => temporal.workflow.getHandle(retentionWorkflowId).signal(runNowSignal),
    close: () => connection.close(),
  }
}

async function rows({ databaseUrl, pidOf }: World['stack']): Promise<Sample[]> {
  const postgres = new Postgres({ connectionString: databaseUrl })
  await postgres.connect()
  try {
    const tables = await postgres.query<{ name: string }>(
      `select relname as name from pg_stat_user_tables
       where schemaname = 'public' and relname not in ('artifacts', 'outbox_messages', '_prisma_migrations')`,
    )
    const counts = tables.rows.map(
      ({ name }) => `select 'rows of ${name}' as name, count(*)::float8 as value from ${name}`,
    )
    const all = await postgres.query<{ name: string; value: number }>(
      [
        ...counts,
        `select 'rows of artifacts: ' || kind.name, count(a.id)::float8
         from (values ('model'), ('checkpoint')) kind (name) left join artifacts a on a.kind = kind.name group by kind.name`,
        // These rows are kept for a fixed time, so their number follows the pace of the jobs.
        `select 'rows of outbox_messages of each workflow', count(*)::float8 / greatest(count(distinct workflow_id), 1) from outbox_messages`,
        `select 'seconds of the oldest row of outbox_messages', coalesce(extract(epoch from now() - min(created_at)), 0)::float8 from outbox_messages`,
        `select 'bytes of the database', pg_database_size(current_database())::float8`,
      ].join(' union all '),
    )
    // Each process that counts usage has one row, for as long as messages are kept.
    const lifeOf = (name: string) => (name === 'rows of usage_writers' ? String(pidOf('api')) : 0)
    return all.rows.map((row) => ({ ...row, life: lifeOf(row.name) }))
  } finally {
    await postgres.end()
  }
}

async function histories(temporal: Client, world: World): Promise<Sample[]> {
  // Each further attempt adds as many events.
  const ended = world.jobs.findLast(
    ({ seen, resumes }) => seen?.status === 'COMPLETED' && resumes === 0 && seen.resumeCount === 0,
  )
  const lengthOf = async (name: string, workflowId: string): Promise<Sample[]> => {
    const { historyLength } = await temporal.workflow.getHandle(workflowId).describe()
    return [{ name, value: historyLength, life: 0 }]
  }
  const open = await temporal.workflow.count(`ExecutionStatus = 'Running'`)
  const housekeeping = await temporal.workflow.count(`WorkflowType in ('reaper', 'retention', 'dailyRetention')`)
  return [
    ...(ended ? await lengthOf('events of the newest job of one attempt', fineTuneWorkflowId(ended.id)) : []),
    ...(await lengthOf('events of the model server', modelServerName('anneal-tiny'))),
    { name: 'open workflows', value: open.count, life: 0 },
    { name: 'runs of the housekeeping', value: housekeeping.count, life: 0 },
    { name: "bytes of Temporal's database", value: sizeOf(world.stack.home.temporal).bytes, life: 0 },
  ]
}

function objects(s3: string): Sample[] {
  const { count, bytes } = sizeOf(join(s3, 'objects'))
  return [
    { name: 'objects', value: count, life: 0 },
    { name: 'bytes of objects', value: bytes, life: 0 },
  ]
}

/** Our own servers collect on a signal. The servers in Go are configured to collect often. */
function collectGarbage({ pidOf }: World['stack']) {
  for (const name of ['api', 'worker-1', 'worker-2'] as const) signalProcess(pidOf(name), 'SIGWINCH')
}

function processes({ stack }: World): Sample[] {
  const ours = servers.flatMap((name) => {
    const pid = stack.pidOf(name)
    const held = pid === null ? null : holdingsOf(pid)
    if (pid === null || held === null) return []
    const memory = { name: `bytes of memory of ${name}`, value: held.ownBytes, life: pid }
    return [memory, { name: `open files of ${name}`, value: held.openFiles, life: pid }]
  })
  // A few programs come and go with the jobs.
  return [...ours, { name: 'programs', value: livingPrograms(stack.home.dir).length, life: 0 }]
}

function folders({ stack }: World): Sample[] {
  return [{ name: 'folders of runs', value: readdirSync(stack.home.runs).length, life: 0 }]
}

/** Null when the process has ended meanwhile. */
function holdingsOf(pid: number) {
  try {
    // Counts anonymous memory only: ever more pages of the program and its libraries become resident.
    const kilobytes = /^RssAnon:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, 'utf8'))?.[1]
    return { ownBytes: Number(kilobytes) * 1024, openFiles: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return null
  }
}

/** Counts all files below the folder. Files that vanish meanwhile are left out. */
function sizeOf(folder: string): { count: number; bytes: number } {
  let [count, bytes] = [0, 0]
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const stat = entry.isFile() ? statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }) : undefined
    if (stat) [count, bytes] = [count + 1, bytes + stat.size]
  }
  return { count, bytes }
}
