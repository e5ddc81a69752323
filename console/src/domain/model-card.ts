// Writes the card of a tuned model: the README that model hubs show.
import { fixed } from './format.ts'

export type Scored = Record<string, { tuned: Interval; base: Interval } | null>
type Interval = { mean: number; low: number; high: number }

export type Card = {
  name: string
  id: string
  base: string
  license: string | null
  dataset: string
  datasetVersion: number | null
  made: string
  args: Record<string, unknown>
  scores: Scored | null
}

export function readmeOf({ name, id, base, license, dataset, datasetVersion, made, args, scores }: Card): string {
  const head = [
    `base_model: ${base}`,
    ...(license === null ? [] : [`license: ${license.toLowerCase()}`]),
    'library_name: peft',
  ]
  const scored = Object.entries(scores ?? {}).flatMap(([grader, each]) => (each ? [{ grader, ...each }] : []))
  const interval = ({ mean, low, high }: Interval) => `${fixed(mean)} (${fixed(low)} to ${fixed(high)})`
  return [
    `---\n${head.join('\n')}\n---\n`,
    `# ${name}\n`,
    `Tuned from ${base} on the data set ${dataset}${datasetVersion === null ? '' : `, version ${datasetVersion}`}, on ${made.slice(0, 10)}. The id of the model is \`${id}\`.\n`,
    ...(scored.length === 0
      ? []
      : [
          '## Scores\n',
          'The mean over the evaluation rows, with its 95 % interval.\n',
          '| Grader | Tuned | Base |\n|---|---|---|',
          ...scored.map(({ grader, tuned, base: plain }) => `| ${grader} | ${interval(tuned)} | ${interval(plain)} |`),
          '',
        ]),
    '## Arguments\n',
    `\`\`\`json\n${JSON.stringify(args, null, 2)}\n\`\`\`\n`,
  ].join('\n')
}
