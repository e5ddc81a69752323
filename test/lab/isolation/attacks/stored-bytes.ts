import { randomUUID } from 'node:crypto'
import { readdirSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { describeHome } from '../../../../src/embedded/data-directory.ts'
import { readAnswer, type Answer } from '../accounts.ts'
import type { Attack, Attacker } from '../attack.ts'
import { cancelJob, completion } from '../probes.ts'
import { keepAsking } from './connections.ts'

const quotaBytes = 20e6
const uploadBytes = 5e6

export const storedBytes: Attack = {
  name: 'stored-bytes',
  what: 'uploads of 5 MB, each with a job that is cancelled at once, on a stack that grants 20 MB to an account',
  settings: { ANNEAL_MAX_STORED_BYTES: String(quotaBytes) },
  seconds: 40,
  probes: (stage) => [completion(stage)],
  async run(attacker) {
    attacker.underway()
    await keepAsking(1, attacker.signal, () => storeAndCancel(attacker))
  },
  check({ homeDir }, { answers }) {
    const storedBytes = sizeOf(describeHome(homeDir).s3)
    const isRefused = answers.some(({ code }) => code === 'quota_exceeded')
    const megabytes = Math.round(storedBytes / 1e6)
    return Promise.resolve([
      ...(isRefused ? [] : ['The attacker was never refused for its stored bytes.']),
      ...(storedBytes <= 2 * quotaBytes
        ? []
        : [`The store holds ${megabytes} MB; the quota is ${quotaBytes / 1e6} MB.`]),
    ])
  },
}

/** @returns the answer to the job, or to the upload when that is refused */
async function storeAndCancel({ baseModel, ask, count, accepted }: Attacker): Promise<Answer> {
  const place = await ask('POST', '/v1/data', { dataset_id: `upload-${randomUUID()}` })
  if (place.status !== 200) return place
  const { dataset_location: location } = place.body as { dataset_location: string }
  const put = await fetch(location, { method: 'PUT', body: rowsOf(uploadBytes) })
  await put.arrayBuffer()
  // The store answers XML, not problems.
  if (put.status !== 200) count(readAnswer(put.status, put.headers.get('retry-after'), ''))
  const job = await ask('POST', '/v1/train', { model_name: baseModel, upload_file_path: location })
  if (job.status !== 200) return job
  accepted(1)
  await cancelJob(ask, (job.body as { job_id: string }).job_id)
  return job
}

function rowsOf(bytes: number): string {
  const line = (number: number) => `{"input": "Question ${number}", "output": "${'answer '.repeat(20)}${number}"}\n`
  const count = Math.ceil(bytes / line(0).length)
  return Array.from({ length: count }, (_, index) => line(index)).join('')
}

function sizeOf(folder: string): number {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => statSync(join(entry.parentPath, entry.name), { throwIfNoEntry: false })?.size ?? 0)
    .reduce((sum, size) => sum + size, 0)
}
