// What no request can bring about: states of the database that only faults leave behind.
import pg from 'pg'
import { connection } from './stack.ts'

async function execute(...statements: { text: string; values?: unknown[] }[]) {
  const client = new pg.Client({ connectionString: connection().databaseUrl })
  await client.connect()
  try {
    let rows: unknown[] = []
    for (const statement of statements) ({ rows } = await client.query(statement))
    return rows
  } finally {
    await client.end()
  }
}

/** Every message of the job counts as undelivered, as after a relay that died before it could mark them. */
export const deliverAgain = (jobId: number) =>
  execute(
    {
      text: `update outbox_messages set delivered_at = null, claimed_until = now() where workflow_id = $1`,
      values: [`fine-tune-${jobId}`],
    },
    { text: `select pg_notify('outbox', '')` },
  )

export const withResumes = (jobId: number, left: number) =>
  execute({ text: `update training_jobs set resume_limit = resume_count + $2 where id = $1`, values: [jobId, left] })

/** As if the job's newest attempt had begun that much earlier. */
export const begunEarlier = (jobId: number, hours: number) =>
  execute({
    text: `update attempts a set claimed_at = claimed_at - make_interval(hours => $2) from training_jobs j
      where j.id = $1 and a.job_id = j.id and a.number = j.current_attempt`,
    values: [jobId, hours],
  })

/** A checkpoint or a model of the job that is not whole yet. */
export const isUploading = async (jobId: number) =>
  (await execute({ text: `select from artifacts where job_id = $1 and committed_at is null`, values: [jobId] }))
    .length > 0

/** The files of the model that a job has saved, which no answer tells before the model is exported. */
export const modelFiles = async (jobId: number) => {
  const text = `select files from artifacts where job_id = $1 and kind = 'model' and committed_at is not null`
  const rows = (await execute({ text, values: [jobId] })) as { files: { name: string; sha256: string }[] }[]
  return rows.flatMap(({ files }) => files)
}

/** The hashes of the answers and rewards that a job has committed, by step. */
export const rolloutsOf = (jobId: number) =>
  execute({
    text: `select step, file->>'name' as name, file->>'sha256' as sha256 from artifacts, jsonb_array_elements(files) file
      where job_id = $1 and kind = 'rollouts' and committed_at is not null order by step, name`,
    values: [jobId],
  })

/** The steps of the policies that a job still has, committed or not. */
export const policiesOf = (jobId: number) =>
  execute({ text: `select step from artifacts where job_id = $1 and kind = 'policy'`, values: [jobId] })
