// The estimate of a dry run against the real duration of five jobs of different sizes. One job before them is what the estimate
// comes from. `--method` names another method than supervised, and may be repeated.
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { parseArgs } from 'node:util'
import { createClient, median, startStack } from './stack.ts'

type Job = { status: string; started_at: string | null; finished_at: string | null }
type DryRun = { steps: number; estimated_seconds: { low: number; likely: number; high: number } | null }
type Row = Record<string, string>
type Request = { name: string; data: Row[]; finetune_args: Record<string, number>; method?: object }

const pollMs = 200
const rowsOf = (name: string) =>
  readFileSync(`models/samples/${name}.jsonl`, 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Row)
/** Rows whose answers are four times as long. */
const longer = (rows: Row[], columns: string[]) =>
  rows.map((row) => ({
    ...row,
    ...Object.fromEntries(columns.map((column) => [column, Array.from({ length: 4 }, () => row[column]).join(' ')])),
  }))

/** The first job is what the estimates of the others come from. */
function jobsOf(data: Row[], answers: string[], method?: object): Request[] {
  const each = { data, ...(method && { method }) }
  const ofEight = { max_steps: 100, batch_size: 8, gradient_accumulation_steps: 1 }
  return [
    { ...each, name: 'the first', finetune_args: { max_steps: 100 } },
    { ...each, name: '50 steps', finetune_args: { max_steps: 50 } },
    { ...each, name: '200 steps', finetune_args: { max_steps: 200 } },
    { ...each, name: '400 steps', finetune_args: { max_steps: 400 } },
    { ...each, name: '100 steps of 8 rows', finetune_args: ofEight },
    { ...each, name: '100 steps of long rows', data: longer(data, answers), finetune_args: { max_steps: 100 } },
  ]
}

/** Answers that are drawn have no length of their own, so the jobs differ in how many there are and how long they may be. */
function sampledJobs(): Request[] {
  const letters = { type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match' }
  const grader = { ...letters, input: '{{sample.output_text}}', reference: '{{item.product}}' }
  const job = (name: string, steps: number, knobs: Record<string, number> = {}): Request => ({
    name,
    data: rowsOf('prompts'),
    finetune_args: { max_steps: steps },
    method: {
      type: 'reinforcement',
      reinforcement: {
        grader,
        hyperparameters: { batch_size: 4, samples_per_prompt: 4, max_completion_tokens: 32, ...knobs },
      },
    },
  })
  return [
    job('the first', 20),
    job('40 steps', 40),
    job('20 steps of 16 answers', 20, { samples_per_prompt: 16 }),
    job('20 steps of 8 prompts', 20, { batch_size: 8 }),
    job('20 steps of longer answers', 20, { max_completion_tokens: 64 }),
    job('20 steps, two on each batch', 20, { num_iterations: 2 }),
  ]
}

const pairs = rowsOf('preferences')
const judged = pairs.map(({ prompt, chosen, rejected }, at) => ({
  ...{ prompt: prompt ?? '', completion: (at % 2 ? rejected : chosen) ?? '', label: at % 2 === 0 },
})) as unknown as Row[]
const jobsByMethod: Record<string, () => Request[]> = {
  supervised: () => jobsOf(rowsOf('products'), ['output']),
  dpo: () => jobsOf(pairs, ['chosen', 'rejected'], { type: 'dpo' }),
  kto: () => jobsOf(judged, ['completion'], { type: 'kto' }),
  reinforcement: sampledJobs,
}

const { method: methods } = parseArgs({
  options: { method: { type: 'string', multiple: true, default: ['supervised'] } },
}).values
const stack = await startStack()
const call = createClient(stack.connection)
const requestOf = ({ name: _name, ...request }: Request) => ({ model_name: stack.connection.baseModel, ...request })

/** From the start of the trainer to the end, as the estimate counts. */
async function run(job: Request): Promise<number> {
  const { job_id } = await call<{ job_id: string }>('POST', '/v1/train', requestOf(job))
  for (;;) {
    const { status, started_at, finished_at } = await call<Job>('GET', `/v1/train/jobs/${job_id}`)
    if (status === 'FAILED') throw new Error(`job ${job_id} failed`)
    if (status === 'COMPLETED' && started_at && finished_at)
      return (Date.parse(`${finished_at}Z`) - Date.parse(`${started_at}Z`)) / 1000
    await sleep(pollMs)
  }
}

for (const method of methods) {
  const [first, ...jobs] = jobsByMethod[method]?.() ?? []
  if (!first) throw new Error(`unknown method ${method}; there are ${Object.keys(jobsByMethod).join(', ')}`)
  console.log(method)
  await run(first)
  const ratios: number[] = []
  let inRange = 0
  for (const job of jobs) {
    const { steps, estimated_seconds: estimate } = await call<DryRun>('POST', '/v1/train?dry_run=true', requestOf(job))
    if (!estimate) throw new Error('the dry run has no estimate')
    const seconds = await run(job)
    ratios.push(estimate.likely / seconds)
    inRange += Number(seconds >= estimate.low && seconds <= estimate.high)
    const [low, likely, high] = [estimate.low, estimate.likely, estimate.high].map((value) => value.toFixed(1))
    const figures = `estimated ${likely} s (${low} to ${high}), took ${seconds.toFixed(1)} s`
    console.log(
      `  ${job.name.padEnd(27)} ${String(steps).padStart(4)} steps: ${figures}, ratio ${(estimate.likely / seconds).toFixed(2)}`,
    )
  }
  console.log(
    `  in the range ${inRange} of ${jobs.length}, median ratio ${median(ratios).toFixed(2)}, from ${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`,
  )
}
await stack.stop()
