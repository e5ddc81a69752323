// Rollouts of a job, as a trainer commits them.
import { createHash, randomUUID } from 'node:crypto'
import pg from 'pg'
import { storageKeys } from '../../src/domain/storage-keys.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { connection } from './stack.ts'

const samples = { index: 0, tokens: [5, 6], text: 'Ann', tool_calls: null, finish_reason: 'stop', logps: [-1, -2] }
const sampled = { row: 3, prompt: 'Who?', item: { answer: 'Ann' }, device: 'cpu', samples: [samples] }
const rewarded = { row: 3, rewards: [1], advantages: [0], grades: [{ right: 1 }], errors: [null] }

/** Commits one answer and its reward, whatever the job was trained by. */
export async function commitRollouts(jobId: number, step: number) {
  const { databaseUrl, s3 } = connection()
  const storage = createStorage({ ...s3, region: 'us-east-1' })
  const client = new pg.Client({ connectionString: databaseUrl })
  await client.connect()
  try {
    for (const [name, line] of [
      ['samples.jsonl', sampled],
      ['rewards.jsonl', rewarded],
    ] as const) {
      const [id, bytes] = [randomUUID(), Buffer.from(`${JSON.stringify(line)}\n`)]
      const key = storageKeys.artifact(jobId, id, name)
      await storage.write(key, bytes)
      const sha256 = createHash('sha256').update(bytes).digest('hex')
      const files = JSON.stringify([{ name, key, sizeBytes: bytes.length, sha256 }])
      await client.query(
        `insert into artifacts (id, job_id, attempt, kind, step, spec_hash, files, committed_at)
         values ($1, $2, 1, 'rollouts', $3, '', $4, now())`,
        [id, jobId, step, files],
      )
    }
  } finally {
    await client.end()
  }
}
