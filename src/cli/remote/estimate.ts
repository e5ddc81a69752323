// Prints the answer of a dry run.
import type { Answer } from './operations.ts'

export type TrainAnswer = Answer<'post', '/v1/train'>
type Estimate = Extract<TrainAnswer, { dry_run: true }>
type Range = Estimate['estimated_seconds']

export function describeEstimate({
  rows,
  tokens,
  learned_tokens,
  steps,
  epochs,
  note,
  samples,
  ...rest
}: Estimate): string {
  const { sampled_tokens: sampled, judge_calls: judged } = rest
  const facts = [
    ['rows', String(rows)],
    ['tokens', tokens === null ? null : `about ${tokens}`],
    ['learned', typeof learned_tokens !== 'number' ? null : `about ${learned_tokens} tokens in a pass`],
    ['steps', `${steps}, ${Number(epochs.toFixed(2))} passes over the rows`],
    ['samples', samples === undefined ? null : `${samples}, about ${sampled?.likely} tokens, at most ${sampled?.most}`],
    ['judgements', judged ? String(judged) : null],
    ['time', rangeText(rest.estimated_seconds)],
    ['GPU time', rest.estimated_gpu_seconds?.high ? rangeText(rest.estimated_gpu_seconds) : null],
    ['memory', memoryText(rest)],
    ['note', note],
  ] as const
  return facts
    .filter(([, value]) => value !== null)
    .map(([name, value]) => `${name.padEnd(9)} ${value}`)
    .join('\n')
}

const rangeText = (range: Range) =>
  range && `${seconds(range.likely)} s, between ${seconds(range.low)} and ${seconds(range.high)} s`

function memoryText({ memory_gib: memory, fits, advice }: Pick<Estimate, 'memory_gib' | 'fits' | 'advice'>) {
  // A service of an older release does not tell it.
  if (!memory) return null
  const said = `about ${memory.estimated} GiB${memory.available === null ? '' : ` of ${memory.available}`}`
  return fits === false ? [`${said}, which does not fit.`, ...advice].join(' ') : said
}

const seconds = (value: number) => String(Math.round(value))
