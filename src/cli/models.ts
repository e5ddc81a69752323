import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from './command.ts'
import { CommandError } from './command-error.ts'
import type { Client } from './remote/client.ts'
import type { Answer } from './remote/operations.ts'
import { pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

const base = '/v1/models'
const lookAgainMs = 1000

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
    takes: name,
    async run({ client, args: [name = ''], print }) {
      const links = await client.get(`${base}/:name/download`, { params: { name } })
      print(links, () => linkRows(links.files))
    },
  }),
  export: serviceVerb({
    says: 'merges the model into its base, and prints links to files that need no PEFT',
    takes: name,
    async run({ client, args: [name = ''], print }) {
      const exported = await merge(client, name)
      print(exported, () => linkRows(exported.files))
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

/** Waits until the merged files are there. */
async function merge(client: Client, name: string) {
  const { id } = await client.post(`${base}/:name/export`, { params: { name }, body: { format: 'merged' } })
  for (;;) {
    const exported = await client.get(`${base}/:name/exports/:export_id`, { params: { name, export_id: id } })
    if (exported.status === 'COMPLETED') return exported
    if (exported.status === 'FAILED') throw new CommandError(exported.message ?? 'The export failed.')
    await sleep(lookAgainMs)
  }
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

const linkRows = (files: readonly { name: string; url: string }[]) =>
  files.map(({ name: file, url }) => `${file}\t${url}`).join('\n')
