// What could grow, measured from outside: rows, objects, processes and what they hold, Temporal's histories.
import { Client, Connection } from '@temporalio/client'
import { readdirSync, readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { Client as Postgres } from 'pg'
import { fineTuneWorkflowId, modelServerName } from '../../src/domain/identifiers.ts'
import { housekeepingScheduleId } from '../../workflows/contract.ts'
import { livingPrograms } from './programs.ts'
import { servers } from './stack.ts'
import type { World } from './world.ts'

/** By design one more of it for each job; all else has to come to a rest. */
const kept = [
  ...['training_jobs', 'attempts', 'job_events', 'training_steps', 'evaluations', 'models', 'audit_events'],
  ...['dataset_versions', 'artifacts: model'],
].map((table) => `rows of ${table}`)
const keptBytes = ['objects', 'bytes of objects', 'bytes of the database', "bytes of Temporal's database"]
export const isKept = (name: string) => kept.includes(name) || keptBytes.includes(name)

/** `life` of what begins anew with its process. */
export type Sample = { name: string; value: number; life: string | number }
export type Sampler = Awaited<ReturnType<typeof openSampler>>

const bytesPerPage = 4096

export async function openSampler(world: World) {
  const { stack } = world
  const connection = await Connection.connect({ address: stack.temporalAddress })
  const temporal = new Client({ connection })
  return {
    async measure(): Promise<Sample[]> {
      const lists = await Promise.all([rows(stack.databaseUrl), histories(temporal, world)])
      return [...lists.flat(), ...objects(stack.home.s3), ...processes(world), ...folders(world)]
    },
    /** Its schedule comes once an hour. */
    keepHouse: () => temporal.schedule.getHandle(housekeepingScheduleId).trigger(),
    close: () => connection.close(),
  }
}

async function rows(databaseUrl: string): Promise<Sample[]> {
  const postgres = new Postgres({ connectionString: databaseUrl })
  await postgres.connect()
  try {
    const tables = await postgres.query<{ name: string }>(
      `select relname as name from pg_stat_user_tables where schemaname = 'public' and relname not in ('artifacts', '_prisma_migrations')`,
    )
    const counts = tables.rows.map(
      ({ name }) => `select 'rows of ${name}' as name, count(*)::float8 as value from ${name}`,
    )
    const all = await postgres.query<{ name: string; value: number }>(
      [
        ...counts,
        `select 'rows of artifacts: ' || kind.name, count(a.id)::float8
         from (values ('model'), ('checkpoint')) kind (name) left join artifacts a on a.kind = kind.name group by kind.name`,
        `select 'bytes of the database', pg_database_size(current_database())::float8`,
      ].join(' union all '),
    )
    return all.rows.map((row) => ({ ...row, life: 0 }))
  } finally {
    await postgres.end()
  }
}

async function histories(temporal: Client, world: World): Promise<Sample[]> {
  const ended = world.jobs.findLast(({ seen, resumes }) => seen?.status === 'COMPLETED' && resumes === 0)
  const lengthOf = async (name: string, workflowId: string): Promise<Sample[]> => {
    const { historyLength, runId } = await temporal.workflow.getHandle(workflowId).describe()
    // Of a workflow without an end only what one run has grown to says something.
    return [{ name, value: historyLength, life: name.includes('server') ? runId : 0 }]
  }
  const open = await temporal.workflow.count(`ExecutionStatus = 'Running'`)
  const upkeep = await temporal.workflow.count(`WorkflowType in ('reaper', 'housekeeping')`)
  return [
    ...(ended ? await lengthOf('events of the newest job', fineTuneWorkflowId(ended.id)) : []),
    ...(await lengthOf('events of the model server', modelServerName('anneal-tiny'))),
    { name: 'open workflows', value: open.count, life: 0 },
    { name: 'workflows of schedules', value: upkeep.count, life: 0 },
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

function processes({ stack }: World): Sample[] {
  const ours = servers.flatMap((name) => {
    const pid = stack.pidOf(name)
    const held = pid === null ? null : holdingsOf(pid)
    if (pid === null || held === null) return []
    const memory = { name: `resident bytes of ${name}`, value: held.residentBytes, life: pid }
    return [memory, { name: `open files of ${name}`, value: held.openFiles, life: pid }]
  })
  // Of which a few come and go with the jobs.
  return [...ours, { name: 'programs', value: livingPrograms(stack.home.dir).length, life: 0 }]
}

function folders({ stack }: World): Sample[] {
  return [{ name: 'folders of runs', value: readdirSync(stack.home.runs).length, life: 0 }]
}

/** Null when it has ended meanwhile. */
function holdingsOf(pid: number) {
  try {
    const pages = Number(readFileSync(`/proc/${pid}/statm`, 'utf8').split(' ')[1])
    return { residentBytes: pages * bytesPerPage, openFiles: readdirSync(`/proc/${pid}/fd`).length }
  } catch {
    return null
  }
}

/** Of all files below it; what goes away meanwhile is not counted. */
function sizeOf(folder: string): { count: number; bytes: number } {
  let [count, bytes] = [0, 0]
  for (const entry of readdirSync(folder, { recursive: true, withFileTypes: true })) {
    const stat = entry.isFile() ? statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false }) : undefined
    if (stat) [count, bytes] = [count + 1, bytes + stat.size]
  }
  return { count, bytes }
}
