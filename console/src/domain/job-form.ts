// The form of a new job, as a request and as commands.
import type { Job } from '../api/job.ts'
import type { components } from '../api/types.ts'
import { sentSet, type DataSet, type TypedSet } from './data-set-mix.ts'

type SentMethod = components['schemas']['TrainingMethodRequest']
/** The service says what is wrong with another object. */
type Grader = NonNullable<NonNullable<SentMethod['reinforcement']>['grader']>

export type MethodName = Job['method']['type']

/** A method of GET /v1/train/methods. */
type Method = { type: MethodName; takes_rows_of: readonly MethodName[] }

/** The methods that train on rows of a method, that method first. */
export const methodsOfRows = (methods: readonly Method[], ofRows: MethodName): MethodName[] =>
  methods
    .filter((method) => method.takes_rows_of.includes(ofRows))
    .map(({ type }) => type)
    .toSorted((a, b) => Number(b === ofRows) - Number(a === ofRows))

export type JobForm = {
  model: string
  datasetId: string
  /** Several data sets, the first one that of `datasetId`, with their weights as typed; null for that one alone. */
  sets: readonly TypedSet[] | null
  name: string
  /** The typed texts, by the name of the argument; an empty text leaves the default. */
  args: Readonly<Record<string, string>>
  method: MethodName
  /** The typed hyperparameters that only this method has, as `args`. */
  knobs: Readonly<Record<string, string>>
  /** The grader of a reinforcement job, as JSON. */
  grader: string
  /** More arguments as JSON. */
  more: string
  skipsBadRows: boolean
  /** As typed; empty for the default. */
  evaluationRows: string
  evaluationTokens: string
  /** Parts of the request that have no field here, from the job that is duplicated. */
  kept: Kept
}

type Kept = {
  evaluation?: Pick<Evaluation, 'graders' | 'as_chat' | 'system'>
  metadata?: Record<string, string>
}

export const emptyForm: JobForm = {
  ...{ model: '', datasetId: '', sets: null, name: '', args: {}, more: '', skipsBadRows: false },
  ...{ evaluationRows: '', evaluationTokens: '', method: 'supervised', knobs: {}, grader: '', kept: {} },
}

/** The form with a method that takes the rows. `fitting`: the methods that do; absent while they are not known. */
export function withMethod(form: JobForm, fitting: readonly MethodName[] | undefined): JobForm {
  const [first] = fitting ?? []
  return first === undefined || fitting?.includes(form.method) ? form : { ...form, method: first, knobs: {} }
}

/** The arguments with a field of their own. */
export const fields = [
  ['max_steps', 'Steps', 'optimizer steps of the whole run'],
  ['num_train_epochs', 'Epochs', 'instead of steps'],
  ['learning_rate', 'Learning rate', 'such as 0.0009'],
  ['batch_size', 'Batch size', 'rows in each step'],
  ['r_value', 'LoRA rank', 'the size of the adapter'],
  ['max_length', 'Longest row', 'in tokens'],
] as const

export type TrainRequest = {
  model_name: string
  dataset_id?: string
  datasets?: DataSet[]
  custom_model_name?: string
  skip_bad_rows?: true
  method?: { type: MethodName } & { [M in MethodName]?: { grader?: Grader; hyperparameters?: Record<string, Knob> } }
  finetune_args?: Record<string, unknown>
  evaluation?: Evaluation
  metadata?: Record<string, string>
}
type Evaluation = Pick<
  components['schemas']['JobEvaluation'],
  'graders' | 'as_chat' | 'system' | 'max_rows' | 'max_tokens'
>
type Knob = number | string | boolean

/** @throws Error with a sentence about the field that is wrong */
export function requestOf(form: JobForm): TrainRequest {
  const { model, datasetId, sets, name, args, more, skipsBadRows } = form
  const numbers = Object.entries(args)
    .filter(([, text]) => text.trim() !== '')
    .map(([field, text]) => {
      const value = Number(text)
      const label = fields.find(([name]) => name === field)?.[1] ?? field
      if (!Number.isFinite(value)) throw new Error(`Write a number for “${label}”: “${text}” is none.`)
      return [field, value] as const
    })
  const evaluation = {
    ...form.kept.evaluation,
    ...(form.evaluationRows !== '' && { max_rows: Number(form.evaluationRows) }),
    ...(form.evaluationTokens !== '' && { max_tokens: Number(form.evaluationTokens) }),
  }
  const finetune = { ...moreArguments(more), ...Object.fromEntries(numbers) }
  return {
    model_name: model,
    ...(sets ? { datasets: sets.map(sentSet) } : { dataset_id: datasetId }),
    ...(name.trim() === '' ? {} : { custom_model_name: name.trim() }),
    ...(skipsBadRows ? { skip_bad_rows: true } : {}),
    ...methodOf(form),
    ...(Object.keys(finetune).length === 0 ? {} : { finetune_args: finetune }),
    ...(Object.keys(evaluation).length === 0 ? {} : { evaluation }),
    ...(form.kept.metadata && { metadata: form.kept.metadata }),
  }
}

function methodOf({ method, knobs, grader }: JobForm): Pick<TrainRequest, 'method'> {
  const typed = Object.entries(knobs).flatMap(([name, text]) =>
    text.trim() === '' ? [] : [[name, knobOf(text.trim())]],
  )
  const own = {
    ...(method === 'reinforcement' && grader.trim() !== '' && { grader: objectIn(grader, 'grader') as Grader }),
    ...(typed.length > 0 && { hyperparameters: Object.fromEntries(typed) }),
  }
  if (Object.keys(own).length > 0) return { method: { type: method, [method]: own } }
  return method === 'supervised' ? {} : { method: { type: method } }
}

/** The service says what is wrong with another value. */
function knobOf(text: string): Knob {
  if (text === 'true' || text === 'false') return text === 'true'
  return Number.isFinite(Number(text)) ? Number(text) : text
}

const texts = {
  more: {
    noJson: 'The further arguments are not JSON. Write them as {"seed": 7}.',
    noObject: 'The further arguments must be an object, such as {"seed": 7}.',
  },
  grader: {
    noJson: 'The grader is not JSON. Write it as {"type": "string_check", …}.',
    noObject: 'The grader must be an object, such as {"type": "string_check", …}.',
  },
}

const moreArguments = (text: string) => (text.trim() === '' ? {} : objectIn(text, 'more'))

/** @throws Error with a sentence about the field */
function objectIn(text: string, field: keyof typeof texts): Record<string, unknown> {
  const { noJson, noObject } = texts[field]
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch {
    throw new Error(noJson)
  }
  if (typeof value !== 'object' || value === null || Array.isArray(value)) throw new Error(noObject)
  return value as Record<string, unknown>
}

type Duplicated = Pick<
  Job,
  | 'base_model'
  | 'dataset_id'
  | 'datasets'
  | 'requested_name'
  | 'finetune_args'
  | 'finetune_args_defaults'
  | 'method'
  | 'skip_bad_rows'
  | 'evaluation'
  | 'metadata'
>

/** The form that makes the same job again. Defaults are left out, so that they stay those of the model. */
export function formOf(job: Duplicated): JobForm {
  const defaults = new Set(job.finetune_args_defaults ?? [])
  const given = Object.entries(job.finetune_args).filter(
    ([name, value]) => !defaults.has(name) && value !== null && value !== undefined,
  )
  const own = new Set<string>(fields.map(([name]) => name))
  const more = Object.fromEntries(given.filter(([name]) => !own.has(name)))
  return {
    ...emptyForm,
    model: job.base_model,
    datasetId: job.dataset_id,
    sets: job.datasets?.map(({ dataset_id: id, weight }) => ({ id, weight: String(weight) })) ?? null,
    name: job.requested_name ?? '',
    args: Object.fromEntries(given.filter(([name]) => own.has(name)).map(([name, value]) => [name, String(value)])),
    more: Object.keys(more).length === 0 ? '' : JSON.stringify(more),
    method: job.method.type,
    knobs: knobsOf(job.method),
    grader: job.method.reinforcement ? JSON.stringify(job.method.reinforcement.grader, null, 2) : '',
    skipsBadRows: job.skip_bad_rows,
    evaluationRows: String(job.evaluation?.max_rows ?? ''),
    evaluationTokens: String(job.evaluation?.max_tokens ?? ''),
    kept: keptOf(job),
  }
}

/** Names the kept parts in words; an empty list says that no part is kept. */
export const keptInWords = ({ evaluation, metadata = {} }: Kept): string[] => [
  ...(evaluation?.graders ? [`the graders ${evaluation.graders.map(graderLabel).join(', ')}`] : []),
  ...(typeof evaluation?.as_chat === 'boolean'
    ? [evaluation.as_chat ? 'asked as chats' : 'asked as plain prompts']
    : []),
  ...(typeof evaluation?.system === 'string' ? [`the system message “${evaluation.system}”`] : []),
  ...Object.entries(metadata).map(([key, value]) => `${key}=${value}`),
]

const graderLabel = (grader: NonNullable<Evaluation['graders']>[number]) =>
  typeof grader === 'string' ? grader : (grader.name ?? grader.type)

function keptOf({ evaluation, metadata }: Pick<Job, 'evaluation' | 'metadata'>): Kept {
  const { graders = null, as_chat = null, system = null } = evaluation ?? {}
  const asked = {
    ...(graders !== null && { graders: graders as NonNullable<Evaluation['graders']> }),
    ...(as_chat !== null && { as_chat }),
    ...(system !== null && { system }),
  }
  return {
    ...(Object.keys(asked).length > 0 && { evaluation: asked }),
    ...(Object.keys(metadata).length > 0 && { metadata }),
  }
}

/** Hyperparameters that stand for arguments with a field. */
export const withField = ['n_epochs', 'batch_size', 'learning_rate_multiplier']

/** The others of a job are arguments. */
function knobsOf({ type, defaulted, ...shown }: Job['method']): JobForm['knobs'] {
  const ofArguments = [...withField, 'eval_interval']
  const given = Object.entries(shown[type]?.hyperparameters ?? {}).filter(
    ([name]) => !ofArguments.includes(name) && !defaulted.includes(name),
  )
  return Object.fromEntries(given.map(([name, value]) => [name, String(value)]))
}

/** A word of a shell command. */
const word = (text: string) => (/^[\w.=/@:-]+$/.test(text) ? text : quoted(text))

export const quoted = (text: string) => `'${text.replaceAll("'", `'\\''`)}'`

function cliOf({
  model_name: model,
  dataset_id: dataset,
  datasets: sets,
  custom_model_name: name,
  skip_bad_rows: skips,
  method,
  finetune_args: args = {},
  evaluation = {},
  metadata = {},
}: TrainRequest) {
  const knobs = method?.[method.type]?.hyperparameters ?? {}
  const settings = Object.entries({ ...knobs, ...args }).map(([field, value]) => [
    'set',
    `${field}=${JSON.stringify(value)}`,
  ])
  const options = [
    ...(sets ? sets.map((set) => ['dataset', `${set.dataset_id}:${set.weight}`]) : [['dataset', dataset]]),
    ['model', model],
    ...(name === undefined ? [] : [['name', name]]),
    ...(method ? [['method', method.type]] : []),
    ...settings,
    ...numbered('eval-rows', evaluation.max_rows),
    ...numbered('eval-tokens', evaluation.max_tokens),
    ...Object.entries(metadata).map(([key, value]) => ['metadata', `${key}=${value}`]),
  ]
  const given = options.map(([option, value = '']) => `--${option} ${word(value)}`)
  return ['anneal train', ...given, ...(skips ? ['--skip-bad-rows'] : [])].join(' ')
}

const numbered = (option: string, value: number | null | undefined) =>
  value === null || value === undefined ? [] : [[option, String(value)]]

/** The command line has no options for the other parts of the evaluation, and reads a grader from a file. */
const hasCommand = ({ evaluation = {}, method }: TrainRequest) =>
  method?.type !== 'reinforcement' && Object.keys(evaluation).every((name) => ['max_rows', 'max_tokens'].includes(name))

export function commandsOf(path: string, body: object, origin: string): Record<string, string> {
  const json = JSON.stringify(body, null, 2)
  const cli = path === '/v1/train' && hasCommand(body as TrainRequest) ? { CLI: cliOf(body as TrainRequest) } : {}
  return {
    curl: `curl ${origin}${path} -H "Authorization: Bearer $KEY" \\\n  -H 'Content-Type: application/json' -d ${quoted(json)}`,
    ...cli,
    Python: `import json, os, urllib.request\n\nrequest = urllib.request.Request(\n    "${origin}${path}",\n    data=json.dumps(json.loads(${JSON.stringify(JSON.stringify(body))})).encode(),\n    headers={"Authorization": f"Bearer {os.environ['KEY']}", "Content-Type": "application/json"},\n)\nprint(json.load(urllib.request.urlopen(request)))`,
    TypeScript: `const response = await fetch('${origin}${path}', {\n  method: 'POST',\n  headers: { Authorization: \`Bearer \${process.env.KEY}\`, 'Content-Type': 'application/json' },\n  body: JSON.stringify(${json}),\n})\nconsole.log(await response.json())`,
    JSON: json,
  }
}
