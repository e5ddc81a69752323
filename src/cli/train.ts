import { UsageError } from './usage-error.ts'
import { describeJob, exitCodeOf, followJob, readJob } from './remote/job.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { uploadFile } from './remote/upload-file.ts'

export const train = serviceCommand({
  usage: `[FILE] --model NAME [--dataset ID] [--set NAME=VALUE]... [--watch]

  FILE         JSON Lines, a JSON array or CSV, gzipped or not, of {"input", "output"} rows;
               without FILE the data set of --dataset is trained on
  --model NAME the base model
  --set N=V    an argument of the run, such as max_steps=200; may be given several times
  --name TEXT  your name for the tuned model
  --dataset ID id of the data set (default: the file's name and a hash of its content)
  --watch      wait until the job has ended, with a progress bar`,
  options: {
    model: { type: 'string' },
    set: { type: 'string', multiple: true },
    name: { type: 'string' },
    dataset: { type: 'string' },
    watch: { type: 'boolean' },
  },
  takes: { least: 0, most: 1 },
  async run({ client, positionals: [file], values, print }) {
    const { model, name, dataset, json } = values
    if (model === undefined) throw new UsageError('--model is missing.')
    if (file === undefined && dataset === undefined)
      throw new UsageError('Name a FILE to upload, or with --dataset a data set that the service has.')
    const finetuneArgs = Object.fromEntries((values.set ?? []).map(parseSetting))
    const uploaded = file === undefined ? null : await uploadFile(client, file, dataset)
    const { job_id: jobId } = await client.post<{ job_id: string }>('/v1/train', {
      model_name: model,
      ...(uploaded ? { upload_file_path: uploaded.dataset_location } : { dataset_id: dataset }),
      finetune_args: finetuneArgs,
      ...(name !== undefined && { custom_model_name: name }),
    })
    if (!json)
      console.log(`${uploaded ? `Data set ${uploaded.dataset_id} uploaded; t` : 'T'}raining job ${jobId} accepted.`)
    const job = values.watch ? await followJob(client, jobId, { quiet: json ?? false }) : await readJob(client, jobId)
    print(job, () => describeJob(job))
    return values.watch ? exitCodeOf(job) : 0
  },
})

/** A value that parses as JSON (a number, a list, null) is sent as such, any other as text. */
function parseSetting(text: string): [string, unknown] {
  const [, name, value] = /^(\w+)=(.*)$/s.exec(text) ?? []
  if (name === undefined || value === undefined) throw new UsageError(`--set takes NAME=VALUE, not "${text}".`)
  try {
    return [name, JSON.parse(value)]
  } catch {
    return [name, value]
  }
}
