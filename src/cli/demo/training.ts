import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../../../tools/paths.mjs'
import type { Client } from './client.ts'
import { DemoError } from './demo-error.ts'
import { createProgressLine, type TrainingStep } from './progress-line.ts'

export type Row = { input: string; output: string }
type Job = { status: string; status_message?: string | null; model_name: string | null; history: string }

const samplePath = join(root, 'models/samples/products.jsonl')
const maxSteps = 150
/** Every row is seen 75 times: enough to learn 40 made-up facts by heart. */
const finetuneArgs = {
  r_value: 64,
  lora_alpha: 64,
  optim: 'adamw_torch',
  learning_rate: 0.002,
  batch_size: 20,
  gradient_accumulation_steps: 1,
  max_steps: maxSteps,
  warmup_steps: 10,
}
const pollMs = 500
const endStates = ['COMPLETED', 'PARTIALLY COMPLETED', 'FAILED', 'CANCELLED']

export async function submitSample(client: Client, baseModel: string) {
  const bytes = readFileSync(samplePath)
  const rows = bytes
    .toString()
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
  const { dataset_location: location, dataset_id: datasetId } = await client.post<{
    dataset_location: string
    dataset_id: string
  }>('/v1/data', { dataset_id: `products-${Date.now()}` })
  await client.upload(location, new Uint8Array(bytes))
  console.log(`Uploaded ${rows.length} rows as data set ${datasetId}.`)
  const job = await client.post<{ job_id: string }>('/v1/train', {
    model_name: baseModel,
    upload_file_path: location,
    finetune_args: finetuneArgs,
  })
  return { job, rows }
}

/** Resolves with the tuned model's name. An interrupted demo leaves no job behind. */
export async function followJob(client: Client, jobId: string): Promise<string> {
  try {
    return await follow(client, jobId)
  } catch (error) {
    if (!(error instanceof DemoError)) await client.cancel(jobId).catch(() => {})
    throw error
  }
}

async function follow(client: Client, jobId: string): Promise<string> {
  const line = createProgressLine(maxSteps)
  for (;;) {
    const job = await client.get<Job>(`/v1/train/jobs/${jobId}`)
    line.show(job.status, JSON.parse(job.history) as TrainingStep[])
    if (endStates.includes(job.status)) {
      line.end()
      if (job.status === 'COMPLETED' && job.model_name) return job.model_name
      throw new DemoError(`Job ${jobId} ended as ${job.status}: ${job.status_message ?? 'no message'}`)
    }
    await sleep(pollMs)
  }
}
