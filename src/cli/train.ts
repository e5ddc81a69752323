import { columnOptions, columnsIn, setColumns } from './remote/columns.ts'
import { describeJob, exitCodeOf, followJob, readJob } from './remote/job.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { fileText, idOption, uploadFile } from './remote/upload-file.ts'
import { UsageError } from './usage-error.ts'

export const command = serviceVerb({
  takes: { '[FILE]': `${fileText};\nwithout FILE the data set of --dataset is trained on` },
  options: {
    model: { value: 'NAME', says: 'the base model', required: true },
    dataset: idOption,
    set: {
      value: 'NAME=VALUE',
      says: 'an argument of the run, such as max_steps=200; may be given several times',
      multiple: true,
    },
    ...columnOptions,
    'skip-bad-rows': { says: 'leave out the rows that cannot be read, and train on the others' },
    name: { value: 'TEXT', says: 'your name for the tuned model' },
    watch: { says: 'wait until the job has ended, with a progress bar' },
  },
  async run({ client, args: [file], values, isJson, print }) {
    const { model, dataset, set, name, watch } = values
    if (file === undefined && dataset === undefined)
      throw new UsageError('Name a FILE to upload, or with --dataset a data set that the service has.')
    const finetuneArgs = Object.fromEntries((set ?? []).map(parseSetting))
    const columns = columnsIn(values)
    const uploaded = file === undefined ? null : await uploadFile(client, file, dataset)
    if (columns) await setColumns(client, uploaded?.dataset_id ?? dataset ?? '', columns)
    const accepted = await client.post('/v1/train', {
      body: {
        model_name: model,
        ...(uploaded ? { upload_file_path: uploaded.dataset_location } : { dataset_id: dataset }),
        finetune_args: finetuneArgs,
        custom_model_name: name,
        skip_bad_rows: values['skip-bad-rows'],
      },
    })
    const jobId = String(accepted.job_id)
    if (!isJson)
      console.log(`${uploaded ? `Data set ${uploaded.dataset_id} uploaded; t` : 'T'}raining job ${jobId} accepted.`)
    const job = watch ? await followJob(client, jobId, { quiet: isJson }) : await readJob(client, jobId)
    print(job, () => describeJob(job))
    return watch ? exitCodeOf(job) : 0
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
