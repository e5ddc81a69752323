// What the victim does: small actions whose times tell how much an attack takes from it.
import { setTimeout as sleep } from 'node:timers/promises'
import { sampleRows } from '../../support/rows.ts'
import { jsonOf, noAnswer, type Ask, type Answer } from './accounts.ts'
import type { Probe, Stage } from './attack.ts'

const fastCount = 200
const slowCount = 8
/** A slow probe that is not done after this time counts as unanswered. */
const slowTimeoutMs = 60_000
const pollMs = 40

const prompt = 'Question: Where is the Tundra Backpack made?\nAnswer: '

export function completion({ connection, victim }: Stage, modelName = connection.baseModel): Probe {
  return {
    name: 'completion',
    count: fastCount,
    ask: () => victim.ask('POST', '/v1/completions', { model_name: modelName, prompt, max_tokens: 8 }),
  }
}

export function typedCompletion({ connection, victim }: Stage): Probe {
  const body = { model_name: connection.baseModel, prompt, output_type: { city: 'str', stock: 'int' }, max_tokens: 8 }
  return { name: 'typed completion', count: fastCount, ask: () => victim.ask('POST', '/v1/completions', body) }
}

/** The most prompts that a call may hold. */
export function largeCall({ connection, victim }: Stage): Probe {
  const prompts = Array.from({ length: 10_000 }, () => prompt)
  const body = jsonOf({ model_name: connection.baseModel, prompt: prompts, max_tokens: 8 })
  return { name: 'call of 10,000 prompts', count: 2, ask: () => victim.ask('POST', '/v1/completions', body) }
}

/** Asks the database for each answer. */
export function jobList({ victim }: Stage): Probe {
  return { name: 'list of jobs', count: fastCount, ask: () => victim.ask('GET', '/v1/train/jobs?limit=1') }
}

/** A refusal makes Kubernetes take the pod out of the service. */
export function readiness({ victim }: Stage): Probe {
  return { name: '/readyz', count: fastCount, ask: () => victim.ask('GET', '/readyz') }
}

/** From the submit of a batch of four prompts to its last result. */
export function batch({ connection, victim }: Stage): Probe {
  const body = { model_name: connection.baseModel, prompt: Array.from({ length: 4 }, () => prompt), max_tokens: 4 }
  return {
    name: 'batch of 4',
    count: slowCount,
    async ask() {
      const answer = await victim.ask('POST', '/v1/batch_completions', body)
      if (answer.status !== 200) return answer
      const { id } = answer.body as { id: string }
      return untilDone(() => victim.ask('GET', `/v1/batch_completions/${id}/result`), isWhole)
    },
  }
}

export const isWhole = ({ body }: Answer) => {
  const { finish_reason: reasons } = body as { finish_reason?: (string | null)[] }
  return reasons !== undefined && !reasons.includes(null)
}

/** From the submit of a job of 40 rows until its data set is checked. The job is then cancelled. */
export function jobCheck({ connection, victim }: Stage): Probe {
  const body = { model_name: connection.baseModel, data: sampleRows, finetune_args: { max_steps: 1 } }
  let previous: string | undefined
  return {
    name: 'check of a job',
    count: slowCount,
    async ask() {
      const answer = await victim.ask('POST', '/v1/train', body)
      if (answer.status !== 200) return answer
      const { job_id: id } = answer.body as { job_id: string }
      const last = await untilDone(
        () => victim.ask('GET', `/v1/train/jobs/${id}`),
        (job) => statusOf(job) !== 'CREATED',
      )
      await cancelJob(victim.ask, id)
      previous = id
      return last
    },
    async rest() {
      if (previous !== undefined) await untilEnded(victim.ask, previous)
    },
  }
}

export const statusOf = ({ body }: Answer) => (body as { status?: string } | null)?.status
export const cancelJob = (ask: Ask, id: string) => ask('POST', `/v1/train/jobs/${id}/cancel`)

const ends = ['COMPLETED', 'PARTIALLY COMPLETED', 'CANCELLED', 'FAILED']
export const untilEnded = (ask: Ask, id: string) =>
  untilDone(
    () => ask('GET', `/v1/train/jobs/${id}`),
    (job) => ends.includes(statusOf(job) ?? ''),
  )

/** Polls until the answer is as wanted or a refusal. */
async function untilDone(look: () => Promise<Answer>, isDone: (answer: Answer) => boolean): Promise<Answer> {
  for (const deadline = performance.now() + slowTimeoutMs; performance.now() < deadline; await sleep(pollMs)) {
    const answer = await look()
    if (answer.status !== 200 || isDone(answer)) return answer
  }
  return noAnswer('not_done', `The work was not done within ${slowTimeoutMs / 1000} s.`)
}
