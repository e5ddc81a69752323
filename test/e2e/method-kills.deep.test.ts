// kill -9 of trainer, worker and api at random moments of a job of each method: the model and every figure are those of a
// run that nobody disturbed, to the byte. `ANNEAL_KILLS` sets how many kills a method gets, `ANNEAL_SEED` their moments,
// `ANNEAL_METHOD` takes one of the methods, `ANNEAL_RANKS` the processes of a trainer.
import assert from 'node:assert/strict'
import { readFileSync } from 'node:fs'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { processId } from '../../src/embedded/connection.ts'
import { createRandom, type Random } from '../inference/support/random.ts'
import { modelFiles, rolloutsOf, withResumes } from '../support/database.ts'
import { eventually } from '../support/eventually.ts'
import { pidOf } from '../support/processes.ts'
import { connection, openAccount, type Api } from '../support/stack.ts'

const kills = Number(process.env['ANNEAL_KILLS'] ?? 20)
const seed = Number(process.env['ANNEAL_SEED'] ?? Date.now() % 1_000_000)
const ranks = Number(process.env['ANNEAL_RANKS'] ?? 1)
const only = process.env['ANNEAL_METHOD']
const data = new URL('../../runtime/tests/trainer/trl/', import.meta.url)
const linesOf = (name: string) =>
  readFileSync(new URL(name, data), 'utf8')
    .trim()
    .split('\n')
    .map((line) => JSON.parse(line) as Record<string, unknown>)

const args = { max_steps: 40, save_steps: 6, batch_size: 4, gradient_accumulation_steps: 1, lora_dropout: 0.1 }
const grader = {
  ...{ type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.answer}}' },
}
const sampling = { samples_per_prompt: 4, max_completion_tokens: 16, num_iterations: 2, kl_coefficient: 0.01 }
const methods = {
  supervised: { rows: linesOf('pairs.jsonl') },
  dpo: { rows: linesOf('preferences.jsonl') },
  kto: { rows: linesOf('judged.jsonl') },
  reinforcement: {
    rows: linesOf('pairs.jsonl').map(({ input, output }) => ({ prompt: input, answer: output })),
    asked: { grader, hyperparameters: sampling },
  },
}

suite('kill -9 in a job of each method', () => {
  const random = createRandom(seed)
  for (const [type, { rows, ...given }] of Object.entries(methods))
    test(
      `${type}: ${kills} kills change no byte (seed ${seed})`,
      { skip: only !== undefined && only !== type },
      async () => {
        const api = await openAccount()
        const method = { type, ...('asked' in given && { [type]: given.asked }) }
        const gpu_config = { gpus: ranks }
        const start = () =>
          api.train({ data: rows, eval_data: rows.slice(0, 8), method, finetune_args: args, gpu_config })
        const calm = await start()
        await api.untilStatus(calm, 'COMPLETED')
        const expected = await outcomeOf(api, calm)
        assert.equal(expected.steps.length > 0, true)
        for (let left = kills; left > 0;) {
          const id = await start()
          await withResumes(id, 1000)
          left -= await disturb(api, id, { left, random })
          await api.untilStatus(id, 'COMPLETED')
          assert.deepEqual(await outcomeOf(api, id), expected)
        }
      },
    )
})

/** Kills until the job has ended. Returns how often. */
async function disturb(api: Api, id: number, { left, random }: { left: number; random: Random }) {
  let done = 0
  while (done < left) {
    await sleep(random.fraction() * 8000)
    const { finished_at: end } = await api.get<{ finished_at: string | null }>(`/v1/train/jobs/${id}`)
    if (end !== null) break
    const name = (['trainer', 'trainer', 'trainer', 'worker', 'api'] as const)[random.below(5)] ?? 'trainer'
    if (await kill(api, id, name)) done++
  }
  return done
}

/** False if no such process runs now. */
async function kill(api: Api, id: number, name: 'trainer' | 'worker' | 'api'): Promise<boolean> {
  if (name === 'trainer') {
    const { attempts } = await api.get<{ attempts: { count: number } }>(`/v1/train/jobs/${id}`)
    const pid = pidOf(`ft-${id}-a${attempts.count}`)
    return pid !== null && isKilled(pid)
  }
  const pid = processId(connection(), name)
  if (!isKilled(pid)) return false
  await eventually(() => {
    const now = connection().processes[name]
    return now !== pid && now
  })
  if (name === 'api') await eventually(async () => (await fetch(`${connection().apiUrl}/readyz`).catch(() => null))?.ok)
  return true
}

function isKilled(pid: number): boolean {
  try {
    return process.kill(pid, 'SIGKILL')
  } catch {
    return false
  }
}

const isOfTime = (name: string) =>
  ['iter_time', 'remaining_time', 'tokens_per_second'].includes(name) || name.startsWith('step_seconds/')

const withoutTime = (figures: object) => Object.fromEntries(Object.entries(figures).filter(([name]) => !isOfTime(name)))

/** Weights and figures, without those of time. */
async function outcomeOf(api: Api, id: number) {
  type Metric = Record<string, unknown> & { series?: Record<string, number> }
  const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
  const weights = (await modelFiles(id)).find(({ name }) => name === 'adapter_model.safetensors')?.sha256
  assert.ok(weights)
  const steps = metrics.map(({ series = {}, ...metric }) => ({ ...withoutTime(metric), series: withoutTime(series) }))
  return { weights, steps, rollouts: await rolloutsOf(id) }
}
