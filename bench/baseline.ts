// Baselines for the api, in a process of their own: the least code that does the same.
import express from 'express'
import { createServer, type Server } from 'node:http'
import { once } from 'node:events'
import type { AddressInfo } from 'node:net'
import pg from 'pg'

export type BaselineUrls = { empty: string; bareEmpty: string; bareList: string }

const [databaseUrl = ''] = process.argv.slice(2)
const pool = new pg.Pool({ connectionString: databaseUrl })

const app = express()
app.post('/', express.json(), (_request, response) => void response.json({}))
app.get('/', (_request, response) => void response.json({}))

const bareEmpty = createServer((_request, response) => {
  response.setHeader('Content-Type', 'application/json')
  response.end('{}')
})

/** `GET /<account>`: the first page of the account's jobs, in the form of the api's list. */
const bareList = createServer((request, response) => {
  void pool
    .query<Record<string, unknown> & { start_time: Date }>({
      name: 'list',
      text: `select id as job_id, status, created_at as start_time, model_name, custom_model_name, resume_count, dataset_id, resume_limit
        from training_jobs where account_id = $1 order by created_at desc, id desc limit 100`,
      values: [request.url?.slice(1)],
    })
    .then(({ rows }) => {
      const body = JSON.stringify(rows)
      response.setHeader('Content-Type', 'application/json')
      response.setHeader('Content-Length', Buffer.byteLength(body))
      response.end(body)
    })
})

const open = async (server: Server) => {
  await once(server, 'listening')
  return `http://127.0.0.1:${(server.address() as AddressInfo).port}/`
}
process.send?.({
  empty: await open(app.listen(0, '127.0.0.1')),
  bareEmpty: await open(bareEmpty.listen(0, '127.0.0.1')),
  bareList: await open(bareList.listen(0, '127.0.0.1')),
} satisfies BaselineUrls)
process.once('disconnect', () => process.exit(0))
