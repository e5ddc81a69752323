// Copies rows that the service has made, as often as an account can have them: by the API it would take hours.
import { Client } from 'pg'

export type Ids = Record<
  | 'accountId'
  | 'job'
  | 'modelName'
  | 'evalId'
  | 'evalRun'
  | 'evaluation'
  | 'response'
  | 'webhook'
  | 'key'
  | 'smallFile',
  string
>

export async function multiplyRows(databaseUrl: string, ids: Ids) {
  const client = new Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    for (const statement of statements(ids)) await client.query(statement)
  } finally {
    await client.end()
  }
}

/** Copies rows of a table, with other values in some columns; `n` is the number of the copy. */
const copies = (table: string, where: string, count: number, values: string) =>
  `insert into ${table} select (jsonb_populate_record(t, jsonb_build_object(${values}))).* from ${table} t, generate_series(1, ${count}) n where ${where}`

function statements({
  job,
  evalId,
  evalRun,
  evaluation,
  response,
  webhook,
  key,
  modelName,
  accountId,
  smallFile,
}: Ids): string[] {
  const words2k = `repeat('message of the trainer ', 80)`
  return [
    // The triggers would notify about each row.
    'set session_replication_role = replica',
    `insert into job_events (job_id, kind, status, message, actor, at) select ${job}, 'note', null, ${words2k}, 'trainer', now() + n * interval '1 ms' from generate_series(1, 10000) n`,
    copies(
      'training_steps',
      `t.job_id = ${job} and t.step = (select max(step) from training_steps where job_id = ${job})`,
      100_000,
      `'step', 1000 + n, 'loss', random(), 'sequence', 1000 + n`,
    ),
    copies(
      'attempts',
      `t.job_id = ${job}`,
      1000,
      `'id', gen_random_uuid(), 'number', 1 + n, 'ordinal', 1000 + n, 'token_hash', sha256(n::text::bytea), 'message', ${words2k}`,
    ),
    `update training_jobs set current_attempt = 1001 where id = ${job}`,
    copies(
      'training_jobs',
      `t.id = ${job}`,
      3000,
      `'id', 1000000 + n, 'model_name', null, 'created_at', t.created_at - n * interval '1 s', 'status_message', ${words2k}`,
    ),
    copies('training_job_metadata', `t.job_id = ${job}`, 3000, `'job_id', 1000000 + n`),
    copies(
      'artifacts',
      `t.id = (select artifact_id from models where name = '${modelName}')`,
      5000,
      `'id', md5(n::text)::uuid, 'job_id', 1000000 + n % 3000 + 1`,
    ),
    copies(
      'models',
      `t.name = '${modelName}'`,
      5000,
      `'name', encode(sha256(n::text::bytea), 'hex'), 'artifact_id', md5(n::text)::uuid, 'job_id', 1000000 + n % 3000 + 1, 'created_at', t.created_at - n * interval '1 s'`,
    ),
    copies(
      'model_versions',
      `t.model_name = '${modelName}'`,
      5000,
      `'model_name', encode(sha256(n::text::bytea), 'hex'), 'version', 1 + n`,
    ),
    `insert into evaluations (artifact_id, index, split, input, expected, tuned, base) select t.artifact_id, t.index + 1000 * n, t.split, repeat(t.input, 50), repeat(t.expected, 50), repeat(t.tuned, 50), repeat(t.base, 50) from evaluations t, generate_series(1, 5) n where t.artifact_id = (select artifact_id from models where name = '${modelName}')`,
    copies(
      'dataset_versions',
      `t.id = (select id from dataset_versions where account_id = '${accountId}' and dataset_id = 'wide')`,
      1000,
      `'id', gen_random_uuid(), 'version', 1 + n`,
    ),
    copies(
      'dataset_versions',
      `t.id = (select id from dataset_versions where account_id = '${accountId}' and dataset_id = 'wide-rows')`,
      1000,
      `'id', gen_random_uuid(), 'dataset_id', 'copy-' || n`,
    ),
    copies(
      'dataset_versions',
      `t.id = '${smallFile}'::uuid`,
      10_000,
      `'id', md5('file' || n)::uuid, 'dataset_id', 'file-' || md5('file' || n), 'file_name', repeat('f', 250)`,
    ),
    copies(
      'audit_events',
      `t.id = (select min(id) from audit_events where account_id = '${accountId}')`,
      2000,
      `'id', nextval('audit_events_id_seq')`,
    ),
    copies('api_keys', `t.id = '${key}'`, 1000, `'id', substr(md5(n::text), 1, 16), 'name', repeat('n', 100)`),
    `insert into usage_days (account_id, day, api_key_id, model, prompts) select '${accountId}', current_date - n % 30, substr(md5((n / 30)::text), 1, 16), 'anneal-tiny', n from generate_series(1, 20000) n`,
    `insert into webhook_deliveries (endpoint_id, job_id, status, state, due_at, attempts) select '${webhook}', ${job}, 'COMPLETED', 'failed', null, (select jsonb_agg(jsonb_build_object('at', now(), 'statusCode', 500, 'error', repeat('e', 200))) from generate_series(1, 20)) from generate_series(1, 2000)`,
    // As large as a conversation of a model with a context of 128,000 tokens can be.
    `update stored_responses set conversation = (select jsonb_agg(jsonb_build_object('role', case n % 2 when 0 then 'assistant' else 'user' end, 'content', repeat('message ', 500)))::text from generate_series(1, 2040) n) where id = '${response}'`,
    copies('evals', `t.id = '${evalId}'`, 100, `'id', gen_random_uuid()`),
    copies('model_evaluations', `t.id = '${evalRun}'`, 100, `'id', gen_random_uuid()`),
    copies('model_evaluations', `t.id = '${evaluation}'`, 20, `'id', gen_random_uuid()`),
    copies(
      'inference_batches',
      `t.account_id = '${accountId}' and t.kind = 'completions'`,
      100,
      `'id', gen_random_uuid()`,
    ),
    'set session_replication_role = origin',
    'analyze',
  ]
}
