import { setTimeout as sleep } from 'node:timers/promises'
import { UsageError } from './usage-error.ts'
import { exitCodes } from './command-error.ts'
import type { Client } from './remote/client.ts'
import { pageOptions, pageUsage, queryOf, shortTime, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Evaluation = {
  id: string
  status: string
  models: string[]
  dataset_id: string
  created_at: string
  finished_at: string | null
  summary: Record<string, Record<string, { mean: number; low: number; high: number } | null>> | null
}

const base = '/v1/evaluations'
const pollMs = 1000

export const evaluations = serviceCommand({
  usage: `list [--limit N] [--after ID]
       anneal evaluations create DATASET MODEL… [--graders LIST] [--max-rows N] [--max-tokens N] [--wait]
       anneal evaluations show|cancel ID
       anneal evaluations rows ID [--limit N] [--offset N]

  --graders LIST  names of graders with commas between (default: chosen by the expected outputs)
  --wait          wait until the evaluation has ended, and show it
${pageUsage}`,
  options: {
    ...pageOptions,
    offset: { type: 'string' },
    graders: { type: 'string' },
    'max-rows': { type: 'string' },
    'max-tokens': { type: 'string' },
    wait: { type: 'boolean' },
  },
  takes: { least: 1, most: 12 },
  async run({ client, positionals: [verb = '', target, ...models], values, print, signal }) {
    const { limit, after, offset } = values
    if (verb === 'list') {
      const page = await client.get<{ evaluations: Evaluation[]; next: string | null }>(
        `${base}${queryOf({ limit, after })}`,
      )
      print(page, () => rows(page.evaluations))
      tellNext(page.next)
      return 0
    }
    if (target === undefined) throw new UsageError(`evaluations ${verb} needs one more argument.`)
    const path = `${base}/${encodeURIComponent(target)}`
    switch (verb) {
      case 'create': {
        if (models.length === 0) throw new UsageError('Name at least one model.')
        const made = await client.post<{ id: string }>(base, {
          dataset_id: target,
          models,
          ...(values.graders !== undefined && { graders: values.graders.split(',').map((name) => name.trim()) }),
          ...(values['max-rows'] !== undefined && { max_rows: wholeNumber(values['max-rows'], '--max-rows') }),
          ...(values['max-tokens'] !== undefined && { max_tokens: wholeNumber(values['max-tokens'], '--max-tokens') }),
        })
        if (!values.wait) print(made, () => made.id)
        else {
          const ended = await untilEnded(client, made.id, signal)
          print(ended, () => shown(ended))
          if (ended.status !== 'COMPLETED') return exitCodes.failed
        }
        return exitCodes.done
      }
      case 'show': {
        const evaluation = await client.get<Evaluation>(path)
        print(evaluation, () => shown(evaluation))
        return 0
      }
      case 'rows': {
        const page = await client.get<{ rows: object[]; next: number | null }>(
          `${path}/rows${queryOf({ limit, offset })}`,
        )
        print(page, () => page.rows.map((row) => JSON.stringify(row)).join('\n'))
        if (page.next !== null) console.error(`More: --offset ${page.next}`)
        return 0
      }
      case 'cancel': {
        print(await client.post(`${path}/cancel`), () => `Cancelled ${target}.`)
        return 0
      }
      default:
        throw new UsageError(`evaluations does not take "${verb}".`)
    }
  },
})

async function untilEnded(client: Client, id: string, signal: AbortSignal): Promise<Evaluation> {
  for (;;) {
    const evaluation = await client.get<Evaluation>(`${base}/${id}`)
    if (evaluation.finished_at !== null) return evaluation
    await sleep(pollMs, undefined, { signal })
  }
}

const shown = (evaluation: Evaluation) => `${rows([evaluation])}\n${scores(evaluation)}`

function wholeNumber(given: string, option: string): number {
  if (!/^\d{1,9}$/.test(given)) throw new UsageError(`${option} takes a whole number, not "${given}".`)
  return Number(given)
}

const rows = (list: Evaluation[]) =>
  table(
    ['EVALUATION', 'AT (UTC)', 'STATUS', 'DATA SET', 'MODELS'],
    list.map((each) => [each.id, shortTime(each.created_at), each.status, each.dataset_id, each.models.join(', ')]),
  )

/** Without scores it is empty, because the evaluation has not ended. */
const scores = ({ summary }: Evaluation) =>
  table(
    ['MODEL', 'GRADER', 'MEAN', '95 % INTERVAL'],
    Object.entries(summary ?? {}).flatMap(([model, graders]) =>
      Object.entries(graders).map(([grader, score]) =>
        score === null
          ? [model, grader, '', '']
          : [model, grader, score.mean.toFixed(3), `${score.low.toFixed(3)} to ${score.high.toFixed(3)}`],
      ),
    ),
  )
