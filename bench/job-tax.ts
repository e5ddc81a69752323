// Job tax: the time from accepted to COMPLETED minus the time of the same trainer run directly on the same rows. Measures
// in turn, so that a drift affects both alike.
import { execFileSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { setTimeout as sleep } from 'node:timers/promises'
import { toolPath } from '../tools/paths.mjs'
import { createClient, median, startStack } from './stack.ts'

const rounds = 3
const pollMs = 10
const rowsFile = 'models/samples/products.jsonl'

const stack = await startStack()
const call = createClient(stack.connection)
const rows = readFileSync(rowsFile, 'utf8')
  .trim()
  .split('\n')
  .map((line) => JSON.parse(line) as unknown)
const finetune_args = {
  max_steps: 100,
  learning_rate: 0.002,
  optim: 'adamw_torch',
  batch_size: 20,
  gradient_accumulation_steps: 1,
  warmup_steps: 10,
}

async function runJob(): Promise<number> {
  const { job_id } = await call<{ job_id: string }>('POST', '/v1/train', {
    model_name: stack.connection.baseModel,
    data: rows,
    finetune_args,
  })
  const acceptedAt = performance.now()
  for (;;) {
    const { status } = await call<{ status: string }>('GET', `/v1/train/jobs/${job_id}`)
    if (status === 'COMPLETED') return performance.now() - acceptedAt
    if (status === 'FAILED') throw new Error(`job ${job_id} failed`)
    await sleep(pollMs)
  }
}

/** Time of the trainer's process, from start to exit. */
const runBaseline = () =>
  Number(
    execFileSync(toolPath('python'), ['bench/trainer_baseline.py', rowsFile, JSON.stringify(finetune_args)], {
      encoding: 'utf8',
    }),
  )

const jobs: number[] = []
const baseline: number[] = []
for (let round = 0; round < rounds; round++) {
  jobs.push(await runJob())
  baseline.push(runBaseline() * 1000)
}
const seconds = (ms: number) => `${(ms / 1000).toFixed(2)} s`
console.log(`job       median ${seconds(median(jobs))} of ${jobs.map(seconds).join(', ')}`)
console.log(`baseline  median ${seconds(median(baseline))} of ${baseline.map(seconds).join(', ')}`)
console.log(
  `job tax   ${seconds(median(jobs) - median(baseline))} (allowed: 3 s); ratio ${(median(jobs) / median(baseline)).toFixed(2)}`,
)
await stack.stop()
