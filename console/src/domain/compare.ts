// The differences between jobs.
import type { Job } from '../api/job.ts'
import { short } from './format.ts'

type Compared = Pick<Job, 'finetune_args' | 'base_model'> & { dataset: Pick<Job['dataset'], 'id' | 'display_name'> }

/** The rows of arguments, base and data set in which the jobs are not all alike. */
export function differingFacts(jobs: readonly Compared[]): [name: string, values: string[]][] {
  const names = new Set(jobs.flatMap(({ finetune_args: args }) => Object.keys(args)))
  const shown = (value: unknown) =>
    value === undefined ? '–' : typeof value === 'string' ? value : JSON.stringify(value)
  const rows: [string, string[]][] = [
    ['base', jobs.map(({ base_model: base }) => base)],
    ['data set', datasetsOf(jobs)],
    ...[...names]
      .toSorted()
      .map((name): [string, string[]] => [name, jobs.map((job) => shown(job.finetune_args[name]))]),
  ]
  return rows.filter(([, values]) => new Set(values).size > 1)
}

/** Two files of one name are told apart by their ids. */
function datasetsOf(jobs: readonly Compared[]): string[] {
  const idsOf = (name: string) =>
    new Set(jobs.filter(({ dataset }) => dataset.display_name === name).map(({ dataset }) => dataset.id))
  return jobs.map(({ dataset: { id, display_name: name } }) =>
    idsOf(name).size > 1 ? `${name} (${short(id)})` : short(name),
  )
}

type Row = { input: string; expected: string; outputs: { output: string }[] }

/** Each input with the tuned answer of every job; null where a job did not answer it. */
export function answersByInput(all: readonly (readonly Row[])[]) {
  const rows = new Map<string, { input: string; expected: string; answers: (string | null)[] }>()
  for (const [place, evaluated] of all.entries())
    for (const { input, expected, outputs } of evaluated) {
      const row = rows.get(input) ?? { input, expected, answers: all.map(() => null) }
      row.answers[place] = outputs[0]?.output ?? null
      rows.set(input, row)
    }
  return [...rows.values()]
}

/** The points of all jobs on one axis, and the values of each job on it. */
export function aligned(curves: readonly (readonly { x: number; y: number | null }[])[]): {
  x: number[]
  values: (number | null)[][]
} {
  const x = [...new Set(curves.flatMap((curve) => curve.map((point) => point.x)))].toSorted((a, b) => a - b)
  const values = curves.map((curve) => {
    const at = new Map(curve.map((point) => [point.x, point.y]))
    return x.map((each) => at.get(each) ?? null)
  })
  return { x, values }
}

/** Which of the values are the best; none if they are all alike. */
export function bestOf(values: readonly (number | null)[], isLowBest: boolean): boolean[] {
  const known = values.filter((value) => value !== null)
  const best = isLowBest ? Math.min(...known) : Math.max(...known)
  return values.map((value) => value === best && new Set(known).size > 1)
}
