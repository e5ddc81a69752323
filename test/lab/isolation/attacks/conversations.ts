import type { Attack } from '../attack.ts'
import { completion, jobCheck, statusOf } from '../probes.ts'
import { countDone } from './accepted-work.ts'
import { untilTold } from './connections.ts'

/** A message of a few letters, so that the row has as many turns as it can: 63 bytes each. */
const turns = 2700
const jobs = 2

export const conversations: Attack = {
  name: 'conversations',
  what: 'two jobs train on one row of messages of 175 KB: 2,700 turns of a few letters',
  maxGrowthMb: { worker: 800 },
  seconds: 60,
  probes: (stage) => [jobCheck(stage), completion(stage)],
  async run(attacker) {
    const { baseModel, signal, ask, underway } = attacker
    const paths: string[] = []
    for (let job = 0; job < jobs; job++) {
      const answer = await ask('POST', '/v1/train', { model_name: baseModel, data: [conversation(turns)] })
      if (answer.status === 200) paths.push(`/v1/train/jobs/${(answer.body as { job_id: string }).job_id}`)
    }
    underway()
    await untilTold(signal)
    await countDone(attacker, paths, (job) => statusOf(job) !== 'CREATED')
    await ask('POST', '/v1/train/jobs/cancel', undefined, AbortSignal.timeout(60_000))
  },
}

function conversation(count: number) {
  const messages = Array.from({ length: count }, () => [
    { role: 'user', content: 'a' },
    { role: 'assistant', content: 'b' },
  ])
  return { messages: messages.flat() }
}
