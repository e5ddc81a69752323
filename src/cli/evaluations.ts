import { setTimeout as sleep } from 'node:timers/promises'
import type { Command } from './command.ts'
import { exitCodes } from './command-error.ts'
import type { Client } from './remote/client.ts'
import type { Answer } from './remote/operations.ts'
import { pageOptions, shortTime, tellNext } from './remote/page.ts'
import { serviceVerb, warn } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'
import { UsageError } from './usage-error.ts'

const base = '/v1/evaluations'
const pollMs = 1000

type Evaluation = Answer<'get', `${typeof base}/:id`>

export const command: Command = {
  list: serviceVerb({
    options: pageOptions,
    async run({ client, values: { limit, after }, print }) {
      const page = await client.get(base, { query: { limit, after } })
      print(page, () => rows(page.evaluations))
      tellNext(page.next)
    },
  }),
  create: serviceVerb({
    takes: { DATASET: '', 'MODEL...': '' },
    options: {
      graders: {
        value: 'LIST',
        says: 'names of graders with commas between (default: chosen by the expected outputs)',
      },
      'max-rows': { value: 'N', says: 'the most rows that are answered' },
      'max-tokens': { value: 'N', says: 'the most tokens of an answer' },
      chat: { says: 'asks rows without messages as chats (default: as each model learned)' },
      'no-chat': { says: 'asks rows without messages as plain prompts' },
      system: {
        value: 'TEXT',
        says: 'the system message of chats without one of their own; by default the one that the model learned, "" for none',
      },
      'skip-bad-rows': { says: 'leave out the rows that cannot be evaluated, and evaluate the others' },
      wait: { says: 'wait until the evaluation has ended, and show it' },
    },
    async run({ client, args: [dataset, ...models], values, print, signal }) {
      const form = formOf(values)
      const made = await client.post(base, {
        body: {
          dataset_id: dataset,
          models,
          graders: values.graders?.split(',').map((name) => name.trim()),
          max_rows: wholeNumber(values['max-rows'], '--max-rows'),
          max_tokens: wholeNumber(values['max-tokens'], '--max-tokens'),
          ...form,
          skip_bad_rows: values['skip-bad-rows'],
        },
      })
      if (!values.wait) {
        print(made, () => made.id)
        return exitCodes.done
      }
      const ended = await untilEnded(client, made.id, signal)
      for (const warning of ended.warnings ?? []) warn(warning)
      print(ended, () => shown(ended))
      return ended.status === 'COMPLETED' ? exitCodes.done : exitCodes.failed
    },
  }),
  show: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      const evaluation = await client.get(`${base}/:id`, { params: { id } })
      for (const warning of evaluation.warnings ?? []) warn(warning)
      print(evaluation, () => shown(evaluation))
    },
  }),
  cancel: serviceVerb({
    takes: { ID: '' },
    async run({ client, args: [id = ''], print }) {
      print(await client.post(`${base}/:id/cancel`, { params: { id } }), () => `Cancelled ${id}.`)
    },
  }),
  rows: serviceVerb({
    takes: { ID: '' },
    options: {
      limit: pageOptions.limit,
      offset: { value: 'N', says: 'begin with this row, the "next" of the page before' },
    },
    async run({ client, args: [id = ''], values: { limit, offset }, print }) {
      const page = await client.get(`${base}/:id/rows`, { params: { id }, query: { limit, offset } })
      print(page, () => page.rows.map((row) => JSON.stringify(row)).join('\n'))
      if (page.next !== null) console.error(`More: --offset ${page.next}`)
    },
  }),
}

type Form = { chat: boolean | undefined; 'no-chat': boolean | undefined; system: string | undefined }

function formOf({ chat, 'no-chat': noChat, system }: Form) {
  if (noChat && chat) throw new UsageError('Give either --chat or --no-chat.')
  if (noChat && system !== undefined) throw new UsageError('--system is for chats: leave --no-chat out.')
  return { as_chat: chat ?? (noChat ? false : undefined), system }
}

async function untilEnded(client: Client, id: string, signal: AbortSignal): Promise<Evaluation> {
  for (;;) {
    const evaluation = await client.get(`${base}/:id`, { params: { id } })
    if (evaluation.finished_at !== null) return evaluation
    await sleep(pollMs, undefined, { signal })
  }
}

/** With why it waits or failed. */
const shown = (evaluation: Evaluation) =>
  [rows([evaluation]), ...(evaluation.message === null ? [] : [evaluation.message]), scores(evaluation)].join('\n')

function wholeNumber(given: string | undefined, option: string): number | undefined {
  if (given === undefined) return undefined
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
