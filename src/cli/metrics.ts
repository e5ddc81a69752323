import { chartOf } from './remote/chart.ts'
import type { Client } from './remote/client.ts'
import type { Answer } from './remote/operations.ts'
import { tellNext } from './remote/page.ts'
import { serviceVerb } from './remote/remote-verb.ts'
import { table } from './remote/table.ts'

const path = '/v1/train/jobs/:job_id/metrics'
type Metric = Answer<'get', typeof path>['metrics'][number]

const mostSteps = '10000'

export const command = serviceVerb({
  takes: { ID: '' },
  options: {
    chart: { says: 'draws the losses' },
    follow: { short: 'f', says: 'prints or draws new steps as they come, until the job has ended' },
    after: { value: 'STEP', says: 'only steps after this one, the "next" of the page before' },
    limit: {
      value: 'N',
      says: `at most this many steps, up to ${mostSteps} (default: 1000; with --chart or --follow: ${mostSteps})`,
    },
  },
  async run({ client, args: [id = ''], values: { chart, follow, after, limit }, isJson, print }) {
    const most = limit ?? (chart || follow ? mostSteps : undefined)
    const page = await client.get(path, { params: { job_id: id }, query: { since_step: after, limit: most } })
    if (follow && chart && !isJson) await drawAsItGrows(client, id, page.metrics)
    else {
      print(page, () => (chart ? chartOf(page.metrics) : rows(page.metrics)))
      if (follow)
        for await (const metric of newMetrics(client, id, page.metrics))
          console.log(isJson ? JSON.stringify(metric) : cellsOf(metric).join('  '))
      else tellNext(page.next)
    }
  },
})

/** Yields what is not in the page. The stream begins at the start, so nothing is lost between the two. */
async function* newMetrics(client: Client, id: string, page: readonly Metric[]): AsyncGenerator<Metric> {
  const known = new Map(page.map(({ step, loss }) => [step, loss]))
  for await (const { event, data } of client.follow(id)) {
    if (event !== 'metric') continue
    const metric = JSON.parse(data) as Metric
    if (known.get(metric.step) === metric.loss) continue
    known.set(metric.step, metric.loss)
    yield metric
  }
}

/** A terminal shows one chart that grows; a file gets the last one. */
async function drawAsItGrows(client: Client, id: string, page: readonly Metric[]): Promise<void> {
  const points = new Map(page.map((metric) => [metric.step, metric]))
  const draw = () => chartOf([...points.values()].toSorted((a, b) => a.step - b.step))
  const isTerminal = process.stdout.isTTY
  let shown = draw()
  if (isTerminal) console.log(shown)
  for await (const metric of newMetrics(client, id, page)) {
    points.set(metric.step, metric)
    const up = shown.split('\n').length
    shown = draw()
    if (isTerminal) process.stdout.write(`\x1b[${up}A\x1b[J${shown}\n`)
  }
  if (!isTerminal) console.log(shown)
}

/** Shown where a job has them: the loss of a method of rewards or preferences says little. */
const seriesColumns = [
  ['reward', 'REWARD'],
  ['valid_reward', 'HELD-OUT REWARD'],
  ['rewards/margins', 'MARGIN'],
  ['rewards/accuracies', 'ACCURACY'],
  ['valid_rewards/accuracies', 'HELD-OUT ACCURACY'],
] as const

function rows(list: Metric[]): string {
  const shown = seriesColumns.filter(([name]) => list.some(({ series }) => series?.[name] !== undefined))
  const names = ['STEP', 'LOSS', 'HELD-OUT LOSS', 'LEARNING RATE', ...shown.map(([, title]) => title)]
  return table(
    names,
    list.map((each) => [...cellsOf(each), ...shown.map(([name]) => each.series?.[name]?.toFixed(4) ?? '')]),
  )
}

const cellsOf = (each: Metric) => [
  String(each.step),
  each.loss.toFixed(4),
  each.valid_loss?.toFixed(4) ?? '',
  each.learning_rate?.toExponential(2) ?? '',
]
