import { createHash } from 'node:crypto'
import { createReadStream, openAsBlob, statSync } from 'node:fs'
import { basename, resolve } from 'node:path'
import { pipeline } from 'node:stream/promises'
import { invocationDir } from '../../../tools/paths.mjs'
import { CommandError } from '../command-error.ts'
import type { Client } from './client.ts'
import type { Answer } from './operations.ts'

type Uploaded = Pick<Answer<'post', '/v1/data'>, 'dataset_id' | 'dataset_location'>

export const fileText =
  'JSON Lines, a JSON array or CSV, gzipped or not, of rows such as\n{"input", "output"}, {"text"} or {"messages"} (docs/api-guide.md lists all forms)'
export const idOption = {
  value: 'ID',
  says: "id of the data set (default: the file's name and a hash of its content)",
} as const

/** Streams the file to the service's upload URL. Without an id, the data set is named after the file and a hash of its content. */
export async function uploadFile(client: Client, file: string, datasetId?: string): Promise<Uploaded> {
  const path = resolve(invocationDir, file)
  if (!statSync(path, { throwIfNoEntry: false })?.isFile()) throw new CommandError(`There is no file ${path}.`)
  const place = await client.post('/v1/data', { body: { dataset_id: datasetId ?? (await nameFor(path)) } })
  await client.upload(place.dataset_location, await openAsBlob(path))
  return { dataset_id: place.dataset_id, dataset_location: place.dataset_location }
}

/** The same content has the same name, so that a repeated command makes no second data set. */
async function nameFor(path: string): Promise<string> {
  const hash = createHash('sha256')
  await pipeline(createReadStream(path), hash)
  const stem = basename(path)
    .replace(/\..*$/, '')
    .replaceAll(/[^A-Za-z0-9_-]+/g, '-')
    .replace(/^[^A-Za-z0-9]+/, '')
  return `${stem.slice(0, 100) || 'data'}-${hash.digest('hex').slice(0, 12)}`
}
