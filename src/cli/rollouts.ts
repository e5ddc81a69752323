import type { Answer } from './remote/operations.ts'
import { tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'

const path = '/v1/train/jobs/:job_id/rollouts'
type Group = Answer<'get', typeof path>['groups'][number]

export const command = serviceVerb({
  takes: { ID: '' },
  options: {
    step: { value: 'N', says: 'the step (default: the newest one with answers)' },
    row: { value: 'N', says: 'only answers to this row of the data, from 0' },
    'held-out': { says: 'the answers of the validation after the step' },
    limit: { value: 'N', says: 'at most this many prompts, up to 100 (default: 20)' },
    after: { value: 'N', says: 'only prompts after so many, the "next" of the page before' },
  },
  async run({ client, args: [id = ''], values: { 'held-out': isHeldOut, ...query }, print }) {
    const split = isHeldOut ? 'held_out' : undefined
    const page = await client.get(path, { params: { job_id: id }, query: { ...query, split } })
    print(page, () => [`step ${page.step}`, ...page.groups.map(textOf)].join('\n\n'))
    tellNext(page.next)
  },
})

function textOf({ row, dataset_id: set, line, prompt, samples }: Group): string {
  const asked = typeof prompt === 'string' ? prompt : JSON.stringify(prompt)
  const answers = samples.map(({ text, reward, advantage, error, tool_calls: calls }) => {
    const score = reward === null ? (error?.message ?? 'not graded') : `reward ${figure(reward)}`
    const called = calls ? ` ${JSON.stringify(calls)}` : ''
    return `  ${score}, advantage ${advantage === null ? '-' : figure(advantage)}: ${JSON.stringify(text)}${called}`
  })
  const place = line === null ? '' : ` (${set === null ? '' : `${set}, `}line ${line})`
  return [`row ${row}${place}: ${asked}`, ...answers].join('\n')
}

const figure = (value: number) => String(Number(value.toFixed(3)))
