// Prints the answer of a preview: the rows as a training reads them, with marks around what it learns.
import type { TrainAnswer } from './estimate.ts'

type Preview = Extract<TrainAnswer, { preview: true }>
type Sequence = NonNullable<Preview['rows'][number]['sequences']>[number]

const [opening, closing] = ['⟦', '⟧']

export function describePreview({ rows, totals }: Preview): string {
  const shown = rows.map(({ line, sequences, error }) => {
    const texts = (sequences ?? []).map((each) => `${noteOf(each)}\n${marked(each)}`)
    const problem = error ? [`${error.field}: ${error.reason}`] : []
    return [`line ${line}`, ...problem, ...texts].join('\n')
  })
  return [`${opening}this${closing} is learned.`, ...shown, totalsText(totals)].join('\n\n')
}

const noteOf = ({ role, length, learned, truncated, dropped }: Sequence) =>
  [
    `${role}: ${learned} of ${length} tokens are learned`,
    ...(truncated ? ['cut to max_length'] : []),
    ...(dropped ? ['left out, because the row is longer than max_length'] : []),
  ].join(', ')

function marked({ tokens, length, trained_spans: spans }: Sequence): string {
  const marks = new Map<number, string>()
  const mark = (at: number, sign: string) => marks.set(at, (marks.get(at) ?? '') + sign)
  for (const [from = 0, to = 0] of spans) {
    if (from >= tokens.length) break
    mark(from, opening)
    mark(Math.min(to, tokens.length), closing)
  }
  const text = tokens.map((token, at) => (marks.get(at) ?? '') + token).join('')
  return text + (marks.get(tokens.length) ?? '') + (tokens.length < length ? ' …' : '')
}

function totalsText({ rows, tokens, learned, bad, cut, dropped, without_end: endless, complete }: Preview['totals']) {
  const counts = [
    [bad, 'cannot be learned'],
    [cut, 'are cut'],
    [dropped, 'are left out'],
    [endless, 'have lost an end token'],
  ] as const
  const told = counts.filter(([count]) => count > 0).map(([count, what]) => `${count} ${what}`)
  return [`${complete ? 'all' : 'the first'} ${rows} rows: ${learned} of ${tokens} tokens are learned`, ...told].join(
    ', ',
  )
}
