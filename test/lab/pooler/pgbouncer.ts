// PgBouncer of the system's packages, in transaction mode: each transaction may get another session of Postgres.
import { execFileSync, spawn } from 'node:child_process'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import pg from 'pg'
import { freePort } from '../../support/free-port.ts'
import { untilSucceeds } from '../../support/eventually.ts'

const pgbouncer = ['/usr/sbin/pgbouncer', '/usr/local/bin/pgbouncer', '/usr/bin/pgbouncer'].find((path) => {
  try {
    return execFileSync(path, ['--version'])
  } catch {
    return false
  }
})

export async function startPgbouncer(dir: string, postgresPort: number, users: Record<string, string>) {
  if (pgbouncer === undefined) throw new Error('pgbouncer is missing. Debian and Ubuntu: apt install pgbouncer.')
  const port = await freePort()
  const [usersFile, configFile] = [join(dir, 'pooler-users.txt'), join(dir, 'pooler.ini')]
  const lines = Object.entries(users).map(([user, password]) => `"${user}" "${password}"\n`)
  writeFileSync(usersFile, lines.join(''), { mode: 0o600 })
  writeFileSync(
    configFile,
    `[databases]
* = host=127.0.0.1 port=${postgresPort}
[pgbouncer]
listen_addr = 127.0.0.1
listen_port = ${port}
unix_socket_dir =
auth_type = scram-sha-256
auth_file = ${usersFile}
stats_users = ${Object.keys(users).join(', ')}
pool_mode = transaction
max_client_conn = 500
default_pool_size = 20
logfile = ${join(dir, 'pooler.log')}
`,
  )
  // It refuses to run as root.
  const asAnother = process.getuid?.() === 0 ? ['unshare', '--user', '--map-user=1000', '--map-group=1000'] : []
  const [program = pgbouncer, ...args]: string[] = [...asAnother, pgbouncer, '--quiet', configFile]
  const child = spawn(program, args, { stdio: 'inherit' })
  const [user = '', password = ''] = Object.entries(users)[0] ?? []

  /** How many transactions it has passed on. */
  async function transactions(): Promise<number> {
    const client = new pg.Client({ host: '127.0.0.1', port, user, password, database: 'pgbouncer' })
    await client.connect()
    const { rows } = await client.query<{ total_xact_count: string }>('show stats')
    await client.end()
    return rows.reduce((sum, row) => sum + Number(row.total_xact_count), 0)
  }
  await untilSucceeds(transactions)
  return { port, transactions, stop: () => child.kill() }
}
