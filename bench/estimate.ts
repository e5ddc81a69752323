// The estimate of a dry run against the real duration of five jobs of different sizes. One job before them is what the estimate
// comes from.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClient, median, startStack } from './stack.ts'

type Job = { status: string; started_at: string | null; finished_at: string | null }
type DryRun = { steps: number; estimated_seconds: { low: number; likely: number; high: number } | null }

const pollMs = 200
const rows = readFileSync('models/samples/products.jsonl', 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as { input: string; output: string })
const long = rows.map(({ input, output }) => ({ input, output: Array.from({ length: 4 }, () => output).join(' ') }))

const jobs = [
  { name: '50 steps', data: rows, finetune_args: { max_steps: 50 } },
  { name: '200 steps', data: rows, finetune_args: { max_steps: 200 } },
  { name: '400 steps', data: rows, finetune_args: { max_steps: 400 } },
  {
    name: '100 steps of 8 rows',
    data: rows,
    finetune_args: { max_steps: 100, batch_size: 8, gradient_accumulation_steps: 1 },
  },
  { name: '100 steps of long rows', data: long, finetune_args: { max_steps: 100 } },
]

const stack = await startStack()
const call = createClient(stack.connection)
const requestOf = ({ name: _name, ...request }: (typeof jobs)[number]) => ({
  model_name: stack.connection.baseModel,
  ...request,
})

/** From the start of the trainer to the end, as the estimate counts. */
async function run(job: (typeof jobs)[number]): Promise<number> {
  const { job_id } = await call<{ job_id: string }>('POST', '/v1/train', requestOf(job))
  for (;;) {
    const { status, started_at, finished_at } = await call<Job>('GET', `/v1/train/jobs/${job_id}`)
    if (status === 'FAILED') throw new Error(`job ${job_id} failed`)
    if (status === 'COMPLETED' && started_at && finished_at)
      return (Date.parse(`${finished_at}Z`) - Date.parse(`${started_at}Z`)) / 1000
    await sleep(pollMs)
  }
}

await run({ name: 'the first', data: rows, finetune_args: { max_steps: 100 } })
const ratios: number[] = []
for (const job of jobs) {
  const { steps, estimated_seconds: estimate } = await call<DryRun>('POST', '/v1/train?dry_run=true', requestOf(job))
  if (!estimate) throw new Error('the dry run has no estimate')
  const seconds = await run(job)
  ratios.push(estimate.likely / seconds)
  const [low, likely, high] = [estimate.low, estimate.likely, estimate.high].map((value) => value.toFixed(1))
  const figures = `estimated ${likely} s (${low} to ${high}), took ${seconds.toFixed(1)} s`
  console.log(
    `${job.name.padEnd(24)} ${String(steps).padStart(4)} steps: ${figures}, ratio ${(estimate.likely / seconds).toFixed(2)}`,
  )
}
console.log(
  `median ratio ${median(ratios).toFixed(2)}, from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
)
await stack.stop()
