import { queryOf, tellNext } from './remote/page.ts'
import { serviceCommand } from './remote/remote-command.ts'
import { table } from './remote/table.ts'

type Metric = { step: number; loss: number; valid_loss: number | null; learning_rate: number | null }

export const metrics = serviceCommand({
  usage: `ID [--after STEP] [--limit N]

  --after STEP  only later steps, the "next" of the page before
  --limit N     most steps, up to 10000 (default: 1000)`,
  options: { after: { type: 'string' }, limit: { type: 'string' } },
  takes: { least: 1, most: 1 },
  async run({ client, positionals: [id = ''], values: { after, limit }, print }) {
    const page = await client.get<{ metrics: Metric[]; next: number | null }>(
      `/v1/train/jobs/${encodeURIComponent(id)}/metrics${queryOf({ since_step: after, limit })}`,
    )
    print(page, () => rows(page.metrics))
    tellNext(page.next)
    return 0
  },
})

const rows = (list: Metric[]) =>
  table(
    ['STEP', 'LOSS', 'HELD-OUT LOSS', 'LEARNING RATE'],
    list.map((each) => [
      String(each.step),
      each.loss.toFixed(4),
      each.valid_loss?.toFixed(4) ?? '',
      each.learning_rate?.toExponential(2) ?? '',
    ]),
  )
