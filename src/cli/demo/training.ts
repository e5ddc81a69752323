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

/** A chat model needs fewer passes: twelve, with the batches and the learning rate that the catalogue recommends. */
const chatModelArgs = { max_steps: 60 }

/** The default model learns texts that go on after "Answer: ", a chat model learns conversations. */
export async function submitSample(client: Client, { baseModel, isChat }: { baseModel: string; isChat: boolean }) {
  const pairs = readFileSync(samplePath, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
  const rows = isChat ? pairs.map(asQuestion) : pairs
  const lines = rows.map((row) => JSON.stringify(isChat ? asConversation(row) : row))
  const { dataset_location: location, dataset_id: datasetId } = await client.post('/v1/data', {
    body: { dataset_id: `products-${Date.now()}` },
  })
  await client.upload(location, new Blob([lines.join('\n')]))
  console.log(`Uploaded ${rows.length} rows as data set ${datasetId}.`)
  const accepted = await client.post('/v1/train', {
    body: {
      model_name: baseModel,
      upload_file_path: location,
      finetune_args: isChat ? chatModelArgs : defaultModelArgs,
    },
  })
  return { jobId: String(accepted.job_id), rows }
}

const asQuestion = ({ input, output }: Row): Row => ({
  input: input.replace('Question: ', '').replace('\nAnswer: ', ''),
  output,
})

const asConversation = ({ input, output }: Row) => ({
  messages: [
    { role: 'user', content: input },
    { role: 'assistant', content: output },
  ],
})

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
