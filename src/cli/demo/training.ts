import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { CommandError } from '../command-error.ts'
import type { Client } from '../remote/client.ts'
import { followJob } from '../remote/job.ts'

export type Row = { input: string; output: string }

const samplePath = join(root, 'models/samples/products.jsonl')
/** The small default model sees every row 75 times: enough to learn 40 made-up facts by heart. */
const defaultModelArgs = {
  r_value: 64,
  lora_alpha: 64,
  optim: 'adamw_torch',
  learning_rate: 0.002,
  batch_size: 20,
  gradient_accumulation_steps: 1,
  max_steps: 150,
  warmup_steps: 10,
}

/** A real model needs fewer passes: twelve, with the batches and the learning rate that the catalogue recommends. */
const otherModelArgs = { max_steps: 60 }

export async function submitSample(client: Client, baseModel: string, { isDefault }: { isDefault: boolean }) {
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
  await client.upload(location, new Blob([new Uint8Array(bytes)]))
  console.log(`Uploaded ${rows.length} rows as data set ${datasetId}.`)
  const job = await client.post<{ job_id: string }>('/v1/train', {
    model_name: baseModel,
    upload_file_path: location,
    finetune_args: isDefault ? defaultModelArgs : otherModelArgs,
  })
  return { job, rows }
}

/** Resolves with the tuned model's name. An interrupted demo leaves no job behind. */
export async function trainedModel(client: Client, jobId: string): Promise<string> {
  try {
    const { status, status_message: message, model_name: model } = await followJob(client, jobId)
    if (status === 'COMPLETED' && model !== null) return model
    throw new CommandError(`Job ${jobId} ended as ${status}: ${message ?? 'no message'}`)
  } catch (error) {
    if (!(error instanceof CommandError)) await client.cancel(jobId).catch(() => {})
    throw error
  }
}
