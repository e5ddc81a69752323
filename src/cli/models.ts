import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError } from './command-error.ts'
import type { Client } from './remote/client.ts'
import { UsageError } from './usage-error.ts'
import { pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Model = { id: string; task: string; aliases: string[]; base_model: string | null; job_id: number | null }
type Scores = Record<string, Record<'tuned' | 'base', { mean: number }> | null>
type Version = {
  version: number | null
  model_name: string
  status: string
  job_id: number
  created_at: string
  evaluation: { scores: Scores | null } | null
}
type Versions = { versions: Version[]; aliases: { alias: string; version: number }[]; next: number | null }

type Exported = { status: string; message: string | null; files: { name: string; url: string }[] }

const lookAgainMs = 1000

export const models = serviceCommand({
  usage: `list
       anneal models show NAME [--limit N] [--after VERSION]
       anneal models alias NAME ALIAS VERSION
       anneal models unalias NAME ALIAS
       anneal models download NAME
       anneal models export NAME
       anneal models delete NAME

  NAME         a custom name, name@version, name@alias, or the model_name of a job
  export       merges the model into its base, and prints links to files that need no PEFT
${pageUsage}`,
  options: pageOptions,
  takes: { least: 1, most: 4 },
  async run({ client, positionals: [verb = '', name, alias, version], values: { limit, after }, print }) {
    const path = (...parts: (string | undefined)[]) => {
      if (parts.includes(undefined)) throw new UsageError(`models ${verb} needs more arguments.`)
      return ['/v1/models', ...parts].map((part, i) => (i === 0 ? part : encodeURIComponent(part ?? ''))).join('/')
    }
    switch (verb) {
      case 'list': {
        const { data } = await client.get<{ data: Model[] }>(`/v1/models${queryOf({ limit, after })}`)
        print(data, () => modelRows(data))
        return 0
      }
      case 'show': {
        const page = await client.get<Versions>(path(name) + queryOf({ limit, after }))
        print(page, () => versionRows(page))
        tellNext(page.next)
        return 0
      }
      case 'alias': {
        if (!/^\d+$/.test(version ?? '')) throw new UsageError('Name the version by its number.')
        const moved = await client.put(aliasPath(path(name), alias), { version: Number(version) })
        print(moved, () => `${name}@${alias} leads to version ${version}.`)
        return 0
      }
      case 'unalias': {
        const removed = await client.delete<{ message: string }>(aliasPath(path(name), alias))
        print(removed, () => removed.message)
        return 0
      }
      case 'download': {
        const links = await client.get<{ files: { name: string; url: string }[] }>(`${path(name)}/download`)
        print(links, () => links.files.map(({ name: file, url }) => `${file}\t${url}`).join('\n'))
        return 0
      }
      case 'export': {
        const exported = await merge(client, path(name))
        print(exported, () => exported.files.map(({ name: file, url }) => `${file}\t${url}`).join('\n'))
        return 0
      }
      case 'delete': {
        const deleted = await client.delete<{ message: string }>(path(name))
        print(deleted, () => deleted.message)
        return 0
      }
      default:
        throw new UsageError(`models takes list, show, alias, unalias, download, export or delete, not "${verb}".`)
    }
  },
})

/** Waits until the merged files are there. */
async function merge(client: Client, model: string): Promise<Exported> {
  const { id } = await client.post<{ id: string }>(`${model}/export`, { format: 'merged' })
  for (;;) {
    const exported = await client.get<Exported>(`${model}/exports/${id}`)
    if (exported.status === 'COMPLETED') return exported
    if (exported.status === 'FAILED') throw new CommandError(exported.message ?? 'The export failed.')
    await sleep(lookAgainMs)
  }
}

function aliasPath(model: string, alias: string | undefined): string {
  if (alias === undefined) throw new UsageError('Name the alias.')
  return `${model}/aliases/${encodeURIComponent(alias)}`
}

const modelRows = (list: Model[]) =>
  table(
    ['MODEL', 'TASK', 'BASE', 'JOB', 'NAMES'],
    list.map((each) => [each.id, each.task, each.base_model ?? '', String(each.job_id ?? ''), each.aliases.join(', ')]),
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
  Object.entries(scores)
    .flatMap(([grader, of]) => (of ? [`${grader} ${of.tuned.mean.toFixed(3)} (${of.base.mean.toFixed(3)})`] : []))
    .join(', ')
