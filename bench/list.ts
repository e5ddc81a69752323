// A page of 100 jobs out of 1,000 and out of 1,000,000, while another account submits, compared with a bare query.
import pg from 'pg'
import { fetchJson, inTurn, sayRatio, startBaseline } from './rounds.ts'
import { startStack } from './stack.ts'

const rounds = 400
const [few, many] = [1000, 1_000_000]
const page = '/v1/train/jobs?limit=100'

const stack = await startStack()
const { connection } = stack
const database = new pg.Client({ connectionString: connection.databaseUrl })
await database.connect()

async function admin<T>(path: string, body: object): Promise<T> {
  const headers = { authorization: `Bearer ${connection.operatorToken}`, 'content-type': 'application/json' }
  const url = `${connection.adminUrl}/internal/v1/admin${path}`
  return (await fetchJson(url, { method: 'POST', headers, body: JSON.stringify(body) })) as T
}

async function openAccount(name: string) {
  const { id } = await admin<{ id: string }>('/accounts', { name })
  const { key } = await admin<{ key: string }>('/keys', { account_id: id, name, scopes: ['read'] })
  await database.query(
    `insert into dataset_versions (id, account_id, dataset_id, version, upload_key) values (gen_random_uuid(), $1, 'rows', 1, 'none')`,
    [id],
  )
  return { id, headers: { authorization: `Bearer ${key}` } }
}

/** Inserts ended jobs, a second apart, the last of them `before` seconds ago. */
const insertJobs = (client: pg.ClientBase, accountId: string, count: number, before: number) =>
  client.query(
    `insert into training_jobs (account_id, api_key_id, dataset_version_id, dataset_id, base_model, status, spec, spec_hash,
       resume_limit, model_name, custom_model_name, created_at)
     select $1, 'none', (select id from dataset_versions where account_id = $1), 'rows', 'm', 'COMPLETED', '{}', 'none',
       1000, md5(random()::text) || md5(random()::text), 'mine', now() - make_interval(secs => $3::int + nth)
     from generate_series(1, $2::int) nth`,
    [accountId, count, before],
  )

const [small, large, busy] = [await openAccount('small'), await openAccount('large'), await openAccount('busy')]
await insertJobs(database, small.id, few, 0)
const startedAt = performance.now()
await insertJobs(database, large.id, many, 0)
await database.query('vacuum analyze training_jobs')
console.log(`${many} jobs inserted in ${((performance.now() - startedAt) / 1000).toFixed(0)} s`)

const inserter = new pg.Client({ connectionString: connection.databaseUrl })
await inserter.connect()
let isOver = false
let inserted = 0
const inserting = (async () => {
  for (; !isOver; inserted++) {
    await insertJobs(inserter, busy.id, 1, 0)
    await new Promise((resolve) => setTimeout(resolve, 5))
  }
})()

const list = (who: { headers: Record<string, string> }, path = page) =>
  fetchJson(connection.apiUrl + path, { headers: who.headers })
/** The cursor of a page in the middle of the list. */
const { rows: half } = await database.query<{ id: number }>(
  'select id from training_jobs where account_id = $1 order by created_at, id limit 1 offset $2',
  [large.id, many / 2],
)
const after = Buffer.from(`job:${half[0]?.id}`).toString('base64url')
const baseline = await startBaseline(connection.databaseUrl)
const times = await inTurn(
  {
    'few jobs': () => list(small),
    'many jobs': () => list(large),
    'many, half-way': () => list(large, `${page}&after=${after}`),
    'bare query': () => fetchJson(baseline.urls.bareList + large.id),
    'bare http': () => fetchJson(baseline.urls.bareEmpty),
    express: () => fetchJson(baseline.urls.empty),
  },
  { rounds },
)
isOver = true
await inserting
console.log(`  the other account inserted ${inserted} jobs meanwhile`)
sayRatio(`page of ${many} / of ${few} jobs (allowed: 1.10)`, times, (p50) => p50['many jobs'] / p50['few jobs'])
sayRatio('half-way / first page', times, (p50) => p50['many, half-way'] / p50['many jobs'])
sayRatio('express - bare http, of ours', times, (p50) => (p50.express - p50['bare http']) / p50['many jobs'])
sayRatio('bare query / (ours - (express - bare http)) (target: 0.9 or more)', times, (p50) => {
  return p50['bare query'] / (p50['many jobs'] - (p50.express - p50['bare http']))
})

baseline.stop()
await inserter.end()
await database.end()
await stack.stop()
