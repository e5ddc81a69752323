// Sends data sets of any size and reads their reports.
import { once } from 'node:events'
import { request, type IncomingMessage, type RequestOptions } from 'node:http'
import { text } from 'node:stream/consumers'
import type { Connection } from '../src/embedded/connection.ts'
import { createClient } from './stack.ts'

export const megabyte = 1e6
/** A row like those of a set of questions and answers. */
const rowBytes = 250
const pieceRows = 256
/** Built once and sent repeatedly. */
const preparedBytes = 10 * megabyte

const rowText = (row: number) =>
  JSON.stringify({
    input: `What is known of part ${row}?`,
    output: `It is a "part" of ${row}.\n`.padEnd(180, 'and more '),
  }).padEnd(rowBytes - 2)

/** Rows in pieces of 64 KB. The api and the baseline read the same bytes. */
export function* pieces(sizeBytes: number, separator: string): Generator<string> {
  const rowCount = Math.floor(sizeBytes / rowBytes)
  for (let row = 0; row < rowCount; row += pieceRows)
    yield Array.from({ length: Math.min(pieceRows, rowCount - row) }, (_, at) => rowText(row + at)).join(separator)
}

export type DatasetClient = ReturnType<typeof createDatasetClient>

export function createDatasetClient(connection: Connection) {
  const { apiUrl, apiKey } = connection
  const call = createClient(connection)
  const authorization = `Bearer ${apiKey}`

  return {
    /** Sends the rows in one request to the api. @returns seconds */
    async ingest(sizeBytes: number): Promise<number> {
      const prepared = [...pieces(Math.min(sizeBytes, preparedBytes), ',\n')]
      function* body() {
        yield '{"upload_base_path":"s3","data":['
        for (let sent = 0; sent < sizeBytes; sent += preparedBytes)
          for (const [index, piece] of prepared.entries()) yield sent + index === 0 ? piece : `,\n${piece}`
        yield ']}'
      }
      const headers = { authorization, 'content-type': 'application/json' }
      return send(`${apiUrl}/v1/local-data`, { method: 'POST', headers }, body())
    },

    /** Uploads the rows as a file to the object store. */
    async put(datasetId: string, body: Iterable<string | Buffer>, sizeBytes: number) {
      const place = await call<{ dataset_location: string }>('POST', '/v1/data', { dataset_id: datasetId })
      await send(place.dataset_location, { method: 'PUT', headers: { 'content-length': sizeBytes } }, body)
    },

    /** Waits for the data set's report. */
    async report<T>(datasetId: string): Promise<T> {
      for (;;) {
        const response = await fetch(`${apiUrl}/v1/data/${datasetId}`, { headers: { authorization } })
        const answer = await response.text()
        if (response.ok) return JSON.parse(answer) as T
        if (response.status !== 503) throw new Error(answer)
      }
    },
  }
}

/** @returns seconds until the answer */
async function send(url: string, options: RequestOptions, body: Iterable<string | Buffer>): Promise<number> {
  const startedAt = performance.now()
  const outgoing = request(url, options)
  const answered = once(outgoing, 'response')
  for (const piece of body) if (!outgoing.write(piece)) await once(outgoing, 'drain')
  outgoing.end()
  const [incoming] = (await answered) as [IncomingMessage]
  const answer = await text(incoming)
  if (incoming.statusCode !== 200) throw new Error(`${url} answered ${incoming.statusCode}: ${answer}`)
  return (performance.now() - startedAt) / 1000
}
