import { existsSync, readFileSync } from 'node:fs'
import { resolve } from 'node:path'
import { invocationDir } from '../../tools/paths.mjs'
import { checkTraining } from './remote/check-training.ts'
import type { Client } from './remote/client.ts'
import { columnOptions, columnsIn, setColumns } from './remote/columns.ts'
import { describeEstimate, type TrainAnswer } from './remote/estimate.ts'
import { describePreview } from './remote/preview.ts'
import { describeJob, exitCodeOf, followJob, readJob } from './remote/job.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { fileText, uploadFile } from './remote/upload-file.ts'
import { sameName } from '../domain/other-names.ts'
import { otherMethodNote } from '../domain/unread-note.ts'
import { offeredMethods, sharedKnobs, trainingMethods, type MethodName } from '../domain/method-table.ts'
import { UsageError } from './usage-error.ts'
import type { Values } from './command.ts'

const methods = offeredMethods.join(', ')

const options = {
  model: { value: 'NAME', says: 'a base model, or a tuned model to train further', required: true },
  dataset: {
    value: 'ID[:WEIGHT]',
    says: "with FILE, the id of its data set (default: the file's name and a hash of its content); else a data set of the service. Several of them are mixed by their weights (default 1)",
    multiple: true,
  },
  set: {
    value: 'NAME=VALUE',
    says: 'an argument of the run, such as max_steps=200, or a hyperparameter of its method, such as beta=0.2; may be given several times',
    multiple: true,
  },
  ...columnOptions,
  'skip-bad-rows': { says: 'leave out the rows that cannot be read, and train on the others' },
  name: { value: 'TEXT', says: 'your name for the tuned model' },
  method: {
    value: 'M',
    says: `how the model is trained: ${methods}; supervised is the default, and sft its other name`,
  },
  grader: {
    value: 'FILE',
    says: 'a file with the grader as JSON, which rewards the answers; --method reinforcement needs one',
  },
  'eval-data': {
    value: 'FILE',
    says: 'a file of rows to evaluate on (default: some rows of the data are set aside)',
  },
  'eval-rows': { value: 'N', says: 'the most rows that are evaluated on (default: all of them)' },
  'eval-tokens': {
    value: 'N',
    says: 'the most tokens of an answer in the evaluation (default: by the expected answers)',
  },
  graders: { value: 'LIST', says: 'names of graders for the evaluation, with commas between' },
  gpus: { value: 'N', says: "GPUs of the job (default: the model's)" },
  metadata: {
    value: 'KEY=VALUE',
    says: 'a pair that the job keeps; may be given several times',
    multiple: true,
  },
  'dry-run': {
    says: 'check the request and its data, estimate the time, and start no job; a FILE is uploaded all the same',
  },
  preview: {
    says: 'show the first rows as tokens with what the job would learn of them, and start no job; a FILE is uploaded all the same',
  },
  force: { says: "start a training that does not fit into the memory of the model's GPUs" },
  watch: { says: 'wait until the job has ended, with a progress bar' },
} as const

export const command = serviceVerb({
  takes: { '[FILE]': `${fileText};\nwithout FILE the data set of --dataset is trained on` },
  options,
  async run({ client, args: [file], values, isJson, print }) {
    refuseWrongUse(file, values)
    const settings = settingsOf(values, graderIn(values))
    const columns = columnsIn(values)
    await checkTraining(client, { model: values.model, args: Object.keys(settings.finetune_args) })
    const uploaded = file === undefined ? null : await uploadFile(client, file, values.dataset?.[0])
    if (columns) await setColumns(client, uploaded?.dataset_id ?? values.dataset?.[0] ?? '', columns)
    const stored = storedData(values.dataset ?? [])
    // A dry run and a preview tell it themselves.
    if (methodNamed(values.method) === 'supervised' && !values['dry-run'] && !values.preview)
      await warnOfOtherMethod(client, uploaded ? [uploaded.dataset_id] : idsIn(stored))
    const answer = await client.post('/v1/train', {
      body: {
        ...settings,
        ...(uploaded ? { upload_file_path: uploaded.dataset_location } : stored),
        ...(await evaluationDataOf(client, values)),
      },
    })
    for (const warning of answer.warnings ?? []) console.error(`Warning: ${warning}`)
    if (isEstimate(answer)) {
      print(answer, () => describeEstimate(answer))
      return 0
    }
    if (isPreview(answer)) {
      print(answer, () => describePreview(answer))
      return 0
    }
    const jobId = String(answer.job_id)
    if (!isJson)
      console.log(`${uploaded ? `Data set ${uploaded.dataset_id} uploaded; t` : 'T'}raining job ${jobId} accepted.`)
    const job = values.watch ? await followJob(client, jobId, { quiet: isJson }) : await readJob(client, jobId)
    print(job, () => describeJob(job))
    return values.watch ? exitCodeOf(job) : 0
  },
})

type Given = Values<typeof options>

const isEstimate = (answer: TrainAnswer): answer is Extract<TrainAnswer, { dry_run: true }> => 'dry_run' in answer

const isPreview = (answer: TrainAnswer): answer is Extract<TrainAnswer, { preview: true }> => 'preview' in answer

/** Finds what is wrong before anything is uploaded. */
function refuseWrongUse(file: string | undefined, values: Given) {
  const { dataset = [], method, grader, watch, preview, 'dry-run': isDry } = values
  if (file === undefined && dataset.length === 0)
    throw new UsageError('Name a FILE to upload, or with --dataset a data set that the service has.')
  if (file !== undefined && (dataset.length > 1 || dataset[0]?.includes(':')))
    throw new UsageError(
      'A FILE is one data set. Upload the files first, and train on their ids with --dataset ID:WEIGHT.',
    )
  if (dataset.length > 1 && columnsIn(values))
    throw new UsageError('Say which columns are read for each data set: anneal data columns ID --output-column NAME.')
  storedData(dataset)
  const type = methodNamed(method)
  if (type === 'reinforcement' && grader === undefined)
    throw new UsageError('A reinforcement job needs a grader: name a file of JSON with --grader.')
  if (type !== 'reinforcement' && grader !== undefined)
    throw new UsageError(`A grader is for --method reinforcement, not for ${type}.`)
  if (isDry && watch) throw new UsageError('A dry run starts no job: leave --watch out.')
  if (preview && (watch || isDry)) throw new UsageError('A preview starts no job: leave --watch and --dry-run out.')
}

/** The job itself tells it in an event, when it has begun. */
async function warnOfOtherMethod(client: Client, ids: readonly string[]) {
  for (const id of ids) {
    const { columns } = await client.get('/v1/data/:dataset_id/rows', {
      params: { dataset_id: id },
      query: { limit: '20' },
    })
    const note = otherMethodNote(columns)
    if (note !== null) console.error(`Warning: ${ids.length > 1 ? `${id}: ` : ''}${note}`)
  }
}

const idsIn = (stored: ReturnType<typeof storedData>): string[] =>
  'datasets' in stored ? stored.datasets.map(({ dataset_id: id }) => id) : [stored.dataset_id ?? '']

/** @throws UsageError */
function storedData(texts: readonly string[]) {
  const [first, ...others] = texts.map((text) => {
    const [, id = '', weight] = /^([^:]*)(?::(.*))?$/s.exec(text) ?? []
    if (weight === undefined) return { dataset_id: id }
    if (!(Number(weight) > 0 && Number.isFinite(Number(weight))))
      throw new UsageError(`--dataset takes ID or ID:WEIGHT with a weight above 0, not "${text}".`)
    return { dataset_id: id, weight: Number(weight) }
  })
  return others.length === 0
    ? { dataset_id: first?.dataset_id }
    : { datasets: [first ?? { dataset_id: '' }, ...others] }
}

function methodNamed(text = 'supervised'): MethodName {
  const name = offeredMethods.find((each) => each === (text === 'sft' ? 'supervised' : text))
  if (name) return name
  // Others name the losses of dpo as methods.
  const isLoss = (trainingMethods.dpo.hyperparameters.loss_type.choices as readonly string[]).includes(text)
  const hint = isLoss ? ` ${text} is a loss of dpo: --method dpo --set loss_type=${text}.` : ''
  throw new UsageError(`--method takes ${methods}, not "${text}".${hint}`)
}

function graderIn({ grader }: Pick<Given, 'grader'>): unknown {
  if (grader === undefined) return undefined
  const path = resolve(invocationDir, grader)
  if (!existsSync(path)) throw new UsageError(`There is no file ${path}.`)
  try {
    return JSON.parse(readFileSync(path, 'utf8'))
  } catch (error) {
    throw new UsageError(`${path} is not JSON: ${error instanceof Error ? error.message : ''}`)
  }
}

/** Beside batch_size, which is an argument too. */
const ofEveryMethod = Object.keys(sharedKnobs).filter((name) => name !== 'batch_size')

const ownersOf = (name: string): MethodName[] =>
  offeredMethods.filter((each) => Object.hasOwn(trainingMethods[each].hyperparameters, name))

/** The arguments of the run, and the method with its own. */
function argumentsOf({ method, set = [] }: Pick<Given, 'method' | 'set'>, grader: unknown) {
  const type = methodNamed(method)
  const pairs = set.map((text) => parsePair('--set', text)).map(([key, text]) => [key, valueOf(text)] as const)
  const isKnob = ([name]: (typeof pairs)[number]) => ofEveryMethod.includes(name) || ownersOf(name).includes(type)
  for (const [name] of pairs) {
    const owners = ownersOf(name)
    if (owners.length > 0 && !owners.includes(type))
      throw new UsageError(`${name} is a hyperparameter of ${owners.join(', ')}, not of ${type}: see --method.`)
    const same = owners.length > 0 ? null : sameName(name, Object.keys(trainingMethods[type].hyperparameters))
    if (same !== null) throw new UsageError(`${name} is not known. The method ${type} calls it ${same}.`)
  }
  const hyperparameters = Object.fromEntries(pairs.filter(isKnob))
  return {
    finetune_args: Object.fromEntries(pairs.filter((pair) => !isKnob(pair))),
    ...((type !== 'supervised' || pairs.some(isKnob)) && { method: { type, [type]: { grader, hyperparameters } } }),
  }
}

/** The body without the data. */
const settingsOf = (
  {
    model,
    set,
    method,
    name,
    gpus,
    metadata = [],
    preview,
    'dry-run': isDry,
    'skip-bad-rows': skip,
    force,
    ...values
  }: Given,
  grader: unknown,
) => ({
  model_name: model,
  ...argumentsOf({ method, set }, grader),
  custom_model_name: name,
  ...(gpus !== undefined && { gpu_config: { gpus: count('--gpus', gpus) } }),
  ...evaluationOf(values),
  ...(metadata.length > 0 && { metadata: Object.fromEntries(metadata.map((text) => parsePair('--metadata', text))) }),
  ...(isDry && { dry_run: true }),
  ...(preview && { preview: true }),
  ...(skip && { skip_bad_rows: true }),
  ...(force && { force: true }),
})

function evaluationOf({ graders, 'eval-rows': rows, 'eval-tokens': tokens }: Partial<Given>) {
  const evaluation = {
    ...(graders !== undefined && { graders: graders.split(',').map((each) => each.trim()) }),
    ...(rows !== undefined && { max_rows: count('--eval-rows', rows) }),
    ...(tokens !== undefined && { max_tokens: count('--eval-tokens', tokens) }),
  }
  return Object.keys(evaluation).length > 0 ? { evaluation } : {}
}

async function evaluationDataOf(client: Client, { 'eval-data': file }: Given) {
  if (file === undefined) return {}
  return { eval_dataset_id: (await uploadFile(client, file)).dataset_id }
}

function parsePair(option: string, text: string): [string, string] {
  const at = text.indexOf('=')
  if (at < 1) throw new UsageError(`${option} takes NAME=VALUE, not "${text}".`)
  return [text.slice(0, at), text.slice(at + 1)]
}

/** A value that parses as JSON (a number, a list, null) is sent as such, any other as text. */
function valueOf(text: string): unknown {
  try {
    return JSON.parse(text)
  } catch {
    return text
  }
}

function count(option: string, text: string): number {
  if (!/^\d{1,6}$/.test(text)) throw new UsageError(`${option} takes a whole number, not "${text}".`)
  return Number(text)
}
