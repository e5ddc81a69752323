import type { Answer } from './remote/operations.ts'
import { serviceVerb } from './remote/remote-verb.ts'

type EvaluatedRow = Answer<'get', '/v1/svc/train/jobs/:job_id/eval'>['eval_results'][number]

export const command = serviceVerb({
  takes: { ID: '' },
  async run({ client, args: [id = ''], print }) {
    const answer = await client.get('/v1/svc/train/jobs/:job_id/eval', { params: { job_id: id } })
    print(answer, () => answer.eval_results.map(describe).join('\n\n'))
  },
})

function describe({ input, expected, outputs: [tuned, base] }: EvaluatedRow): string {
  const lines = [
    ['', input],
    ['expected', expected],
    ['tuned', tuned?.output ?? ''],
    ['base', base?.output ?? ''],
  ] as const
  return lines.map(([name, text]) => (name === '' ? text.trim() : `  ${name.padEnd(9)} ${text.trim()}`)).join('\n')
}
