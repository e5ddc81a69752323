// Tools that bring data, train, and follow a job.
import { offeredMethods } from '../../domain/method-table.ts'
import { CommandError } from '../command-error.ts'
import type { Client } from '../remote/client.ts'
import type { Answer } from '../remote/operations.ts'
import { uploadFile } from '../remote/upload-file.ts'
import { jobFacts } from './job-facts.ts'
import { z } from './sdk.ts'
import { defineTool, type Report } from './tool.ts'

type Job = Answer<'get', '/v1/train/jobs/:job_id'>

const mostLogCharacters = 20_000
const jobId = z.int().min(1).describe('The job_id')

const uploadData = defineTool({
  name: 'upload_data',
  title: 'Upload a data set',
  says: 'Sends a file of this machine to the service as a data set. The file has rows of input and output, texts, or conversations (messages), as JSON Lines, a JSON array or CSV, gzipped or not.',
  danger: 'adds',
  takes: {
    file: z.string().min(1).describe('The path of the file: .jsonl, .json, .csv or .tsv, perhaps with .gz'),
    dataset_id: z.string().optional().describe("Default: the file's name and a hash of its content"),
  },
  hasNoLimit: true,
  async run({ client, input: { file, dataset_id: id } }) {
    // An assistant that was led astray must not send keys or other files of the user.
    if (!/\.(jsonl|ndjson|json|csv|tsv)(\.gz)?$/i.test(file))
      throw new CommandError(`"${file}" is no file of rows: its name must end in .jsonl, .json, .csv or .tsv.`)
    return { dataset_id: (await uploadFile(client, file, id)).dataset_id }
  },
})

const training = {
  model: z.string().min(1).describe('A base model, or a tuned model to train further'),
  dataset_id: z.string().min(1).optional().describe('The data set to train on, unless datasets names several'),
  datasets: z
    .array(z.object({ dataset_id: z.string().min(1), weight: z.number().positive().optional() }))
    .min(1)
    .optional()
    .describe('Several data sets to mix, instead of dataset_id. weight says how often rows of the set are visited'),
  name: z
    .string()
    .optional()
    .describe('A name for the tuned model. Each job with the same name makes its next version'),
  arguments: z
    .record(z.string(), z.unknown())
    .optional()
    .describe("finetune_args such as max_steps, num_train_epochs, learning_rate, batch_size; default: the model's"),
  method: z
    .object({
      type: z.enum(offeredMethods),
      hyperparameters: z.record(z.string(), z.unknown()).optional(),
      grader: z.record(z.string(), z.unknown()).optional().describe('For reinforcement, which needs one'),
    })
    .optional()
    .describe(
      'supervised when absent. dpo: pairs of a better and a worse answer. kto: judged answers. reinforcement: prompts, whose answers the grader rewards. Hyperparameters such as beta, loss_type, samples_per_prompt',
    ),
  force: z
    .boolean()
    .optional()
    .describe("true starts a training that does not fit into the memory of the model's GPUs"),
  eval_dataset_id: z.string().optional().describe('A data set to evaluate on; default: some rows are set aside'),
  graders: z.array(z.string()).min(1).optional().describe('Such as exact_match, f1, includes, numeric, chrf'),
  gpus: z.int().min(1).optional(),
  metadata: z.record(z.string(), z.string()).optional().describe('Pairs that the job keeps'),
  skip_bad_rows: z.boolean().optional().describe('true trains on the good rows and leaves out the bad ones'),
}
type Training = z.output<z.ZodObject<typeof training>>

const bodyOf = ({ model, dataset_id, name, arguments: args, method, graders, gpus, ...same }: Training) => ({
  model_name: model,
  dataset_id,
  custom_model_name: name,
  finetune_args: args,
  ...same,
  ...(method && { method: methodOf(method) }),
  ...(graders && { evaluation: { graders } }),
  ...(gpus !== undefined && { gpu_config: { gpus } }),
})

/** In OpenAI's shape, in which the name of the method stands twice. */
const methodOf = ({ type, ...its }: NonNullable<Training['method']>) => ({ type, [type]: its })

const dryRun = defineTool({
  name: 'dry_run',
  title: 'Check a training without starting it',
  says: 'Checks the request and its data as train would, and estimates steps, seconds and GPU seconds. Warnings say what has no effect.',
  danger: 'reads',
  takes: training,
  run: ({ client, input }) => client.post('/v1/train', { body: { ...bodyOf(input), dry_run: true } }),
})

const train = defineTool({
  name: 'train',
  title: 'Start a training job',
  says: 'Starts a fine-tune, which costs computing time until it ends or is cancelled. Use dry_run first, and tell the user what you start. Then follow the job.',
  danger: 'adds',
  takes: training,
  run: ({ client, input }) => client.post('/v1/train', { body: bodyOf(input) }),
})

const follow = defineTool({
  name: 'follow',
  title: 'Follow a training job',
  says: 'Waits until the state of the job changes or the seconds are over, and tells state, reason, progress, newest losses and the end of the log. Repeat until has_ended is true.',
  danger: 'reads',
  takes: {
    job_id: jobId,
    seconds: z.int().min(0).max(45).default(30).describe('How long to wait at most'),
    log_lines: z.int().min(0).max(100).default(5).describe('Lines of the end of the log'),
  },
  async run({ client, clientUntil, input: { job_id: id, seconds, log_lines: lines }, signal, report }) {
    const before = await jobOf(client, id)
    if (before.finished_at === null && seconds > 0) {
      const until = AbortSignal.any([signal, AbortSignal.timeout(seconds * 1000)])
      await nextChange(clientUntil(until), before, report).catch((error: unknown) => {
        if (signal.aborted || !until.aborted) throw error
      })
    }
    const job = await jobOf(client, id)
    const log = lines === 0 ? undefined : (await logEnd(client, id)).slice(-lines)
    return { ...jobFacts(job), has_ended: job.finished_at !== null, log }
  },
})

const jobOf = (client: Client, id: number) => client.get('/v1/train/jobs/:job_id', { params: { job_id: String(id) } })

/** Resolves when the job's status is another one. Progress is reported meanwhile. */
async function nextChange(client: Client, { job_id: id, status }: Job, report: Report): Promise<void> {
  for await (const { event, data } of client.follow(String(id), { from: 'now' })) {
    const told = JSON.parse(data) as { status?: string; step?: number; of?: number | null }
    if (event === 'end' || (event === 'status' && told.status !== status)) return
    if (event === 'progress' && told.step !== undefined)
      report({ done: told.step, of: told.of ?? undefined, message: `step ${told.step}` })
  }
}

/** The last lines of the newest attempt's log. */
async function logEnd(client: Client, id: number): Promise<string[]> {
  const params = { job_id: String(id) }
  let text = ''
  for (let offset = 0; ;) {
    const piece = await client.get('/v1/train/jobs/:job_id/logs', { params, query: { offset: String(offset) } })
    text = (text + piece.text).slice(-mostLogCharacters)
    if (piece.next_offset === offset) return text.trimEnd().split('\n')
    offset = piece.next_offset
  }
}

const cancel = defineTool({
  name: 'cancel',
  title: 'Cancel a training job',
  says: 'Ends a job. It can be resumed later from its newest checkpoint. Ask the user first, unless they told you to cancel it.',
  danger: 'ends',
  takes: { job_id: jobId },
  run: ({ client, input: { job_id: id } }) =>
    client.post('/v1/train/jobs/:job_id/cancel', { params: { job_id: String(id) } }),
})

export const trainingTools = [uploadData, dryRun, train, follow, cancel]
