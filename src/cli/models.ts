import type { Command } from './command.ts'
import { adapterFiles, mergedFiles, printOrDownload, to } from './remote/model-files.ts'
import type { Answer } from './remote/operations.ts'
import { pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

const base = '/v1/models'

type Model = Answer<'get', typeof base>['data'][number]
type Versions = Answer<'get', `${typeof base}/:name`>
type Scores = NonNullable<NonNullable<Versions['versions'][number]['evaluation']>['scores']>

const name = { NAME: 'a custom name, name@version, name@alias, or the model_name of a job' }

export const command: Command = {
  list: serviceVerb({
    options: pageOptions,
    async run({ client, values: { limit, after }, print }) {
      const { data } = await client.get(base, { query: { limit, after } })
      print(data, () => modelRows(data))
    },
  }),
  show: serviceVerb({
    takes: name,
    options: pageOptions,
    async run({ client, args: [name = ''], values: { limit, after }, print }) {
      const page = await client.get(`${base}/:name`, { params: { name }, query: { limit, after } })
      print(page, () => versionRows(page))
      tellNext(page.next)
    },
  }),
  alias: serviceVerb({
    takes: { ...name, ALIAS: '', VERSION: '' },
    async run({ client, args: [name = '', alias = '', version = ''], print }) {
      if (!/^\d+$/.test(version)) throw new UsageError('Name the version by its number.')
      const request = { params: { name, alias }, body: { version: Number(version) } }
      const moved = await client.put(`${base}/:name/aliases/:alias`, request)
      print(moved, () => `${name}@${alias} leads to version ${version}.`)
    },
  }),
  unalias: serviceVerb({
    takes: { ...name, ALIAS: '' },
    async run({ client, args: [name = '', alias = ''], print }) {
      const removed = await client.delete(`${base}/:name/aliases/:alias`, { params: { name, alias } })
      print(removed, () => removed.message)
    },
  }),
  download: serviceVerb({
    says: 'the files of the adapter: prints links to them, or with --to downloads them',
    takes: name,
    options: to,
    run: (invocation) => printOrDownload(invocation, adapterFiles),
  }),
  export: serviceVerb({
    says: 'merges the model into its base, so that its files need no PEFT: prints links to them, or with --to downloads them',
    takes: name,
    options: to,
    run: (invocation) => printOrDownload(invocation, mergedFiles),
  }),
  card: serviceVerb({
    says: 'prints the card of the model: from what it was made, how good it is, and how a program loads it',
    takes: name,
    async run({ client, args: [name = ''], print }) {
      const card = await client.get(`${base}/:name/card`, { params: { name } })
      print(card, () => card.text)
    },
  }),
  delete: serviceVerb({
    takes: name,
    async run({ client, args: [name = ''], print }) {
      const deleted = await client.delete(`${base}/:name`, { params: { name } })
      print(deleted, () => deleted.message)
    },
  }),
}

const modelRows = (list: Model[]) =>
  table(
    ['NAME', 'TASK', 'BASE', 'JOB', 'OTHER NAMES', 'MODEL'],
    list.map((each) => [
      each.display_name,
      each.task,
      each.base_model ?? '',
      String(each.job_id ?? ''),
      each.aliases.filter((name) => name !== each.display_name).join(', '),
      each.id,
    ]),
  )

const versionRows = ({ versions, aliases }: Versions) =>
  table(
    ['VERSION', 'STATUS', 'JOB', 'CREATED (UTC)', 'ALIASES', 'MODEL', 'SCORES (BASE)'],
    versions.map((each) => [
      String(each.version ?? ''),
      each.status,
      String(each.job_id),
      shortTime(each.created_at),
      aliases.flatMap(({ alias, version }) => (version === each.version ? [alias] : [])).join(', '),
      each.model_name,
      scoresText(each.evaluation?.scores ?? {}),
    ]),
  )

const scoresText = (scores: Scores) =>
  Object.entries(scores ?? {})
    .flatMap(([grader, of]) => (of ? [`${grader} ${of.tuned.mean.toFixed(3)} (${of.base.mean.toFixed(3)})`] : []))
    .join(', ')
