import { serviceCommand } from './remote/remote-command.ts'

type Evaluation = {
  job_id: number
  eval_results: { input: string; expected: string; split: string; outputs: { model_name: string; output: string }[] }[]
}

export const evaluation = serviceCommand({
  usage: 'ID\n',
  options: {},
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], print }) {
    const answer = await client.get<Evaluation>(`/v1/train/jobs/${encodeURIComponent(id)}/eval`)
    print(answer, () => answer.eval_results.map(describe).join('\n\n'))
    return 0
  },
})

function describe({ input, expected, outputs: [tuned, base] }: Evaluation['eval_results'][number]): string {
  const lines = [
    ['', input],
    ['expected', expected],
    ['tuned', tuned?.output ?? ''],
    ['base', base?.output ?? ''],
  ] as const
  return lines.map(([name, text]) => (name === '' ? text.trim() : `  ${name.padEnd(9)} ${text.trim()}`)).join('\n')
}
