// Stands in for src/worker.ts where only the supervisor is under test.
import { Client } from 'pg'

const client = new Client({ connectionString: process.env.DATABASE_URL })
await client.connect()
await client.query('CREATE TABLE IF NOT EXISTS worker_seen ()')
await client.end()
setInterval(() => {}, 60_000)
