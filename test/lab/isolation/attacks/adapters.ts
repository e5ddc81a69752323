import assert from 'node:assert/strict'
import { randomBytes } from 'node:crypto'
import { Client } from 'pg'
import { sampleRows } from '../../../support/rows.ts'
import type { Attack, Stage } from '../attack.ts'
import { completion, statusOf, untilEnded } from '../probes.ts'
import { keepAsking } from './connections.ts'

/** More than a model server holds, which is 32. */
const modelCount = 40
const connections = 10

export const adapters: Attack = {
  name: 'adapters',
  what: 'ten connections ask 40 tuned models in turn, and a job asks for an adapter of rank 1024',
  // Not in `npm test`: a model has to be tuned first.
  seconds: 45,
  async prepare(stage) {
    const model = await tune(stage)
    return { victim: [model], attacker: await copyModels(stage, model) }
  },
  probes: (stage, { victim }) => [completion(stage, victim?.[0])],
  async run({ baseModel, prepared, signal, ask, underway }) {
    const body = { model_name: baseModel, data: sampleRows, finetune_args: { r_value: 1024 } }
    await ask('POST', '/v1/train', body)
    const names = prepared['attacker'] ?? []
    underway()
    let next = 0
    await keepAsking(connections, signal, () => {
      const model_name = names[next++ % names.length]
      return ask('POST', '/v1/completions', { model_name, prompt: 'What is red?', max_tokens: 1 })
    })
    await ask('POST', '/v1/train/jobs/cancel', undefined, AbortSignal.timeout(60_000))
  },
  check: (_, { answers }) =>
    Promise.resolve(
      answers.some(({ status, detail }) => status === 400 && /r_value|rank/.test(detail ?? ''))
        ? []
        : ['A job with an adapter of rank 1024 was not refused.'],
    ),
}

/** @returns the name of a tuned model of the victim */
async function tune({ connection, victim }: Stage): Promise<string> {
  const finetune_args = { max_steps: 1, r_value: 8 }
  const body = { model_name: connection.baseModel, data: sampleRows, finetune_args }
  const answer = await victim.ask('POST', '/v1/train', body)
  assert.equal(answer.status, 200, answer.detail ?? '')
  const job = await untilEnded(victim.ask, (answer.body as { job_id: string }).job_id)
  assert.equal(statusOf(job), 'COMPLETED', JSON.stringify(job.body))
  return (job.body as { model_name: string }).model_name
}

/** Gives the attacker models with the same files: each is an adapter of its own to the model server. */
async function copyModels({ connection, attacker }: Stage, model: string): Promise<string[]> {
  const names = Array.from({ length: modelCount }, () => randomBytes(32).toString('hex'))
  const client = new Client({ connectionString: connection.databaseUrl })
  await client.connect()
  try {
    for (const name of names) await client.query(copyOneModel, [model, name, attacker.id])
  } finally {
    await client.end()
  }
  return names
}

const copyOneModel = `
  with artifact as (
    insert into artifacts (id, job_id, attempt, kind, step, spec_hash, files, committed_at, verified_at)
    select gen_random_uuid(), a.job_id, a.attempt, a.kind, a.step, a.spec_hash, a.files, a.committed_at, a.verified_at
    from models m join artifacts a on a.id = m.artifact_id where m.name = $1
    returning id)
  insert into models (name, account_id, job_id, artifact_id, base_model, files)
  select $2, $3::uuid, m.job_id, artifact.id, m.base_model, m.files from models m, artifact where m.name = $1`
