// Loaded into api and worker before their own code: they reach the database through PgBouncer, as a user with the least
// rights that docs/operations.md names.
import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'

const { DATABASE_URL: ownerUrl, ANNEAL_DATABASE_SESSION_URL: isDone, ANNEAL_TEST_POOLER: pooler } = process.env
// Only these two: the stack itself and Prisma's command go on as the owner.
const isOurs = /src\/(api|worker)\.ts$/.test(process.argv[1] ?? '')
if (isOurs && ownerUrl && pooler && !isDone) {
  const { port, password } = JSON.parse(pooler)
  await grant(ownerUrl, password)
  const as = (url, more) => Object.assign(new URL(url), { username: 'anneal_run', password, ...more }).href
  process.env.ANNEAL_DATABASE_SESSION_URL = as(ownerUrl, {})
  process.env.DATABASE_URL = as(ownerUrl, { port: String(port) })
}

async function grant(url, password) {
  const page = readFileSync(join(import.meta.dirname, '../../../docs/operations.md'), 'utf8')
  const [, sql] = /```sql\n(-- The running user[^]*?)```/.exec(page)
  const client = new pg.Client({ connectionString: url })
  await client.connect()
  await client.query('select pg_advisory_lock(1)')
  const { rowCount } = await client.query("select from pg_roles where rolname = 'anneal_run'")
  if (!rowCount) await client.query(sql.replace("'...'", `'${password}'`))
  await client.end()
}
