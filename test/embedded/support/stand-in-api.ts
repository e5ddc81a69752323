// Stands in for src/api.ts where only the supervisor is under test: ready once the database answers and the worker was there.
import { createServer } from 'node:http'
import { Client } from 'pg'

const { DATABASE_URL, ANNEAL_PORT } = process.env

async function workerIsKnown(): Promise<boolean> {
  const client = new Client({ connectionString: DATABASE_URL })
  await client.connect()
  try {
    const { rows } = await client.query<{ known: boolean }>(`SELECT to_regclass('worker_seen') IS NOT NULL AS known`)
    return rows[0]?.known === true
  } finally {
    await client.end()
  }
}

createServer((request, response) => {
  if (request.url !== '/readyz') return void response.writeHead(404).end()
  workerIsKnown().then(
    (known) => response.writeHead(known ? 200 : 503).end(),
    () => response.writeHead(503).end(),
  )
}).listen(Number(ANNEAL_PORT), '127.0.0.1')
