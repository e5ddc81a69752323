import type { Answer } from './remote/operations.ts'
import { serviceVerb } from './remote/remote-verb.ts'

type Evaluation = Answer<'get', '/v1/svc/train/jobs/:job_id/eval'>
type EvaluatedRow = Evaluation['eval_results'][number]

export const command = serviceVerb({
  takes: { ID: '' },
  async run({ client, args: [id = ''], print }) {
    const answer = await client.get('/v1/svc/train/jobs/:job_id/eval', { params: { job_id: id } })
    print(answer, () => [...answer.eval_results.map(describe), ...pairsOf(answer.summary)].join('\n\n'))
  },
})

/** Describes the share of pairs that a job of the method dpo orders rightly. */
function pairsOf(summary: Evaluation['summary']): string[] {
  const pairs = summary?.['prefers_chosen']
  if (!pairs) return []
  const percent = ({ mean }: { mean: number }) => `${(100 * mean).toFixed(1)} %`
  return [
    `Of ${pairs.tuned.rows} pairs the tuned model orders ${percent(pairs.tuned)} rightly, its base ${percent(pairs.base)}.`,
  ]
}

function describe({ input, expected, outputs: [tuned, base] }: EvaluatedRow): string {
  const lines = [
    ['', input],
    ['expected', expected],
    ['tuned', tuned?.output ?? ''],
    ['base', base?.output ?? ''],
  ] as const
  return lines.map(([name, text]) => (name === '' ? text.trim() : `  ${name.padEnd(9)} ${text.trim()}`)).join('\n')
}
