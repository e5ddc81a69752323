import { jsonOf } from '../accounts.ts'
import type { Attack } from '../attack.ts'
import { batch, completion, isWhole } from '../probes.ts'
import { countDone } from './accepted-work.ts'
import { askEach, pause, untilTold } from './connections.ts'

const count = 3000
const underwayAt = 300
const connections = 10

export const batches: Attack = {
  name: 'batches',
  what: 'ten connections submit 3,000 batches of four prompts',
  seconds: 120,
  probes: (stage) => [batch(stage), completion(stage)],
  async run(attacker) {
    const { baseModel, signal, ask, underway } = attacker
    const prompt = ['What is red?', 'What is blue?', 'What is green?', 'What is white?']
    const body = jsonOf({ model_name: baseModel, prompt, max_tokens: 16 })
    const paths: string[] = []
    await askEach({ count, connections, signal }, async (index) => {
      const answer = await ask('POST', '/v1/batch_completions', body)
      if (index === underwayAt) underway()
      if (answer.status === 200) paths.push(`/v1/batch_completions/${(answer.body as { id: string }).id}/result`)
      else await pause(100, signal)
    })
    await untilTold(signal)
    await countDone(attacker, paths, isWhole)
  },
}
