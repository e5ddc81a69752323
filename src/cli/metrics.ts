import { chartOf } from './remote/chart.ts'
import type { Client } from './remote/client.ts'
import { queryOf, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Metric = { step: number; loss: number; valid_loss: number | null; learning_rate: number | null }

const mostSteps = '10000'

export const metrics = serviceCommand({
  usage: `ID [--chart] [--follow] [--after STEP] [--limit N]

  --chart       draws the losses
  -f, --follow  prints or draws new steps as they come, until the job has ended
  --after STEP  only steps after this one, the "next" of the page before
  --limit N     at most this many steps, up to ${mostSteps} (default: 1000; with --chart or --follow: ${mostSteps})`,
  options: {
    chart: { type: 'boolean' },
    follow: { type: 'boolean', short: 'f' },
    after: { type: 'string' },
    limit: { type: 'string' },
  },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { chart, follow, after, limit, json }, print }) {
    const path = `/v1/train/jobs/${encodeURIComponent(id)}`
    const most = limit ?? (chart || follow ? mostSteps : undefined)
    const page = await client.get<{ metrics: Metric[]; next: number | null }>(
      `${path}/metrics${queryOf({ since_step: after, limit: most })}`,
    )
    if (follow && chart && !json) await drawAsItGrows(client, path, page.metrics)
    else {
      print(page, () => (chart ? chartOf(page.metrics) : rows(page.metrics)))
      if (follow)
        for await (const metric of newMetrics(client, path, page.metrics))
          console.log(json ? JSON.stringify(metric) : cellsOf(metric).join('  '))
      else tellNext(page.next)
    }
    return 0
  },
})

/** Yields what is not in the page. The stream begins at the start, so nothing is lost between the two. */
async function* newMetrics(client: Client, path: string, page: readonly Metric[]): AsyncGenerator<Metric> {
  const known = new Map(page.map(({ step, loss }) => [step, loss]))
  for await (const { event, data } of client.follow(`${path}/stream`)) {
    if (event !== 'metric') continue
    const metric = JSON.parse(data) as Metric
    if (known.get(metric.step) === metric.loss) continue
    known.set(metric.step, metric.loss)
    yield metric
  }
}

/** A terminal shows one chart that grows; a file gets the last one. */
async function drawAsItGrows(client: Client, path: string, page: readonly Metric[]): Promise<void> {
  const points = new Map(page.map((metric) => [metric.step, metric]))
  const draw = () => chartOf([...points.values()].toSorted((a, b) => a.step - b.step))
  const isTerminal = process.stdout.isTTY
  let shown = draw()
  if (isTerminal) console.log(shown)
  for await (const metric of newMetrics(client, path, page)) {
    points.set(metric.step, metric)
    const up = shown.split('\n').length
    shown = draw()
    if (isTerminal) process.stdout.write(`\x1b[${up}A\x1b[J${shown}\n`)
  }
  if (!isTerminal) console.log(shown)
}

const rows = (list: Metric[]) => table(['STEP', 'LOSS', 'HELD-OUT LOSS', 'LEARNING RATE'], list.map(cellsOf))

const cellsOf = (each: Metric) => [
  String(each.step),
  each.loss.toFixed(4),
  each.valid_loss?.toFixed(4) ?? '',
  each.learning_rate?.toExponential(2) ?? '',
]
