// The card of a tuned model: the README.md of its exports, with the front matter that Hugging Face reads.
import type { CatalogueEntry } from './catalogue.ts'
import type { Learned } from './learned.ts'
import { fenced, inline, yaml } from './markdown.ts'
import type { JobScores } from './model-evaluation.ts'
import { loadCode } from './model-card-code.ts'
import type { ExportFormat } from './model-export.ts'
import type { DataFile, DataSplit } from './training-job.ts'
import type { TrainingArgs } from './training-args.ts'
import type { RewardTask } from './reward-task.ts'
import type { TrainingMethod } from './training-method.ts'

export type CardFacts = {
  /** The name for people, and the id. */
  name: string
  modelName: string
  jobId: number
  madeAt: Date
  base: Pick<CatalogueEntry, 'name' | 'source' | 'license'>
  /** The tuned model that the training began from. */
  parent: string | null
  data: CardData
  learned: Learned | null
  args: TrainingArgs
  /** Null for supervised fine-tuning. */
  method: TrainingMethod | null
  /** Names of the arguments that the request gave. */
  givenArgs: readonly string[]
  evaluation: { rows: number; scores: JobScores | null } | null
  /** The release of Anneal that writes the card. */
  release: string
}

type CardData = {
  name: string
  id: string
  /** Null when the data set was deleted; absent for several data sets. */
  version?: number | null
  /** The checked rows. Null when the job's rows are not known. */
  rows: { train: DataFile; evaluation: DataFile & { split: DataSplit }; skipped?: DataFile } | null
  /** The evaluation rows came as a file of their own. */
  hasOwnEvaluation: boolean
}

export function modelCardText(facts: CardFacts, format: ExportFormat): string {
  const sections = [
    `# ${inline(facts.name)}`,
    introduction(facts, format),
    section('Use', loadCode(facts, format)),
    section('Data', dataTable(facts)),
    section('Scores', scores(facts)),
    section('Arguments', argumentsOf(facts)),
    `Made by job ${facts.jobId} on ${facts.madeAt.toISOString().slice(0, 10)} (UTC). The id of the model is \`${facts.modelName}\`. Written by Anneal ${facts.release}.`,
  ]
  return `${frontMatter(facts, format)}\n${sections.join('\n\n')}\n`
}

const section = (title: string, body: string) => `## ${title}\n\n${body}`

/** The licences that Hugging Face knows by these words. */
const hubLicence =
  /^(apache-2\.0|mit|isc|unlicense|mpl-2\.0|bsd-[23]-clause|cc0-1\.0|cc-by(-nc)?(-[sn][ad])?-[1-4]\.0|a?gpl-3\.0|lgpl-3\.0|openrail|llama2|llama3(\.[1-3])?|gemma)$/

function frontMatter({ base, name, ...facts }: CardFacts, format: ExportFormat): string {
  const licence = base.license?.toLowerCase()
  const isKnown = licence !== undefined && hubLicence.test(licence)
  return [
    '---',
    `base_model: ${yaml(publicNameOf(base))}`,
    `base_model_relation: ${format === 'adapter' ? 'adapter' : 'finetune'}`,
    `library_name: ${format === 'adapter' ? 'peft' : 'transformers'}`,
    'pipeline_tag: text-generation',
    ...(base.license === undefined ? [] : [`license: ${isKnown ? licence : 'other'}`]),
    ...(base.license === undefined || isKnown ? [] : [`license_name: ${yaml(base.license)}`]),
    'tags:',
    '  - lora',
    '  - anneal',
    ...modelIndex({ name, ...facts }),
    '---',
    '',
  ].join('\n')
}

const publicNameOf = ({ name, source }: CardFacts['base']) => ('hub' in source ? source.hub : name)

/** Only scores on rows that the model did not see in training are results. */
function modelIndex({ name, data, evaluation }: Pick<CardFacts, 'name' | 'data' | 'evaluation'>): string[] {
  const scored = scoredOf(evaluation)
  if (scored.length === 0 || data.rows?.evaluation.split !== 'held_out') return []
  return [
    'model-index:',
    `  - name: ${yaml(name)}`,
    '    results:',
    '      - task:',
    '          type: text-generation',
    '        dataset:',
    `          name: ${yaml(`${data.name}, held-out rows`)}`,
    `          type: ${yaml(data.id)}`,
    '        metrics:',
    ...scored.flatMap(({ grader, tuned }) => [
      `          - type: ${yaml(grader)}`,
      `            value: ${Number(tuned.mean.toFixed(4))}`,
    ]),
  ]
}

function introduction({ base, parent, args, method, learned, data }: CardFacts, format: ExportFormat): string {
  const kind = format === 'adapter' ? 'A LoRA adapter for' : 'A whole model, merged from a LoRA adapter and its base'
  const form = learned === null ? '' : ` on ${learned.form}`
  const from = parent === null ? '' : ` Its training went on from ${inline(parent)}.`
  const licence =
    base.license === undefined
      ? 'The service names no licence of the base.'
      : `The licence of the base is ${inline(base.license)}.`
  const name = method && method.type !== 'supervised' ? method.type : 'supervised fine-tuning'
  const rewards = method?.task ? ` Its answers were rewarded by ${gradersOf(method.task)}.` : ''
  return `${kind} ${inline(publicNameOf(base))}. Method: ${name}${form}, by LoRA of rank ${args.r_value}, with the data set ${inline(data.name)}.${rewards}${from} ${licence}`
}

/** Names and kinds only: the rest may be an instruction or a program of the owner. */
function gradersOf({ grader }: RewardTask): string {
  const graders = grader.type === 'multi' ? Object.entries(grader.graders) : [[grader.name, grader] as const]
  const named = graders.map(([name, { type }]) => `${inline(name)} (${type})`)
  return `the grader${named.length > 1 ? 's' : ''} ${named.join(', ')}`
}

function dataTable({ data: { name, id, version, rows, hasOwnEvaluation } }: CardFacts): string {
  const evaluation = rows?.evaluation
  const isOwn = hasOwnEvaluation ? ', from a file of their own' : ''
  const of = evaluation?.split === 'held_out' ? `not trained on${isOwn}` : 'trained on as well'
  return table(
    ['Fact', 'Value'],
    [
      [version === undefined ? 'Data sets' : 'Data set', inline(name)],
      ...(name === id ? [] : [['Id', `\`${id}\``]]),
      ...(version === undefined ? [] : [['Version', version === null ? 'deleted since' : String(version)]]),
      ...(rows ? [['Rows', String(rows.train.rowCount)]] : []),
      ...(rows?.skipped ? [['Bad rows that were left out', String(rows.skipped.rowCount)]] : []),
      ...(rows ? [['SHA-256 of the rows, as JSON Lines', `\`${rows.train.sha256}\``]] : []),
      ...(evaluation ? [[`Evaluation rows, ${of}`, String(evaluation.rowCount)]] : []),
      ...(evaluation ? [['SHA-256 of the evaluation rows', `\`${evaluation.sha256}\``]] : []),
    ],
  )
}

function scores({ data, evaluation }: CardFacts): string {
  if (evaluation === null) return 'The model was not evaluated.'
  const scored = scoredOf(evaluation)
  if (scored.length === 0)
    return `The model and its base answered ${evaluation.rows} rows. No scores of these answers were there when this file was written.`
  const of =
    data.rows?.evaluation.split === 'held_out'
      ? 'The mean over rows that the model was not trained on, with its 95 % interval.'
      : 'The mean over rows that the model was also trained on, with its 95 % interval. These scores show how well the model learned its rows, not how it answers new ones.'
  const rows = scored.map(({ grader, tuned, base, difference }) => [
    inline(grader),
    ...[tuned, base, difference].map(interval),
    String(tuned.rows),
  ])
  return `${of}\n\n${table(['Grader', 'This model', 'Its base', 'Difference', 'Rows'], rows)}`
}

const scoredOf = (evaluation: CardFacts['evaluation']) =>
  Object.entries(evaluation?.scores ?? {}).flatMap(([grader, each]) => (each ? [{ grader, ...each }] : []))

const interval = ({ mean, low, high }: { mean: number; low: number; high: number }) =>
  `${mean.toFixed(3)} (${low.toFixed(3)} to ${high.toFixed(3)})`

function argumentsOf({ args, method, givenArgs }: CardFacts): string {
  const shown = method ? { ...args, method: { type: method.type, hyperparameters: method.hyperparameters } } : args
  const given = givenArgs.map((name) => `\`${name}\``).join(', ')
  const says = given === '' ? 'All are defaults.' : `The request gave ${given}; the others are defaults.`
  return `${says}\n\n${fenced('json', JSON.stringify(shown, null, 2))}`
}

const table = (head: readonly string[], rows: readonly (readonly string[])[]) =>
  [head, head.map(() => '---'), ...rows].map((cells) => `| ${cells.join(' | ')} |`).join('\n')
