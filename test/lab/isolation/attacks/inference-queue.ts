import { jsonOf } from '../accounts.ts'
import type { Attack } from '../attack.ts'
import { completion } from '../probes.ts'
import { keepAsking } from './connections.ts'

const calls = 10
const promptsInCall = 10_000

export const inferenceQueue: Attack = {
  name: 'inference-queue',
  what: 'ten connections keep a call of 10,000 prompts each at the model, the most that a call may hold',
  seconds: 45,
  probes: (stage) => [completion(stage)],
  async run({ baseModel, signal, ask, underway }) {
    const prompt = Array.from({ length: promptsInCall }, (_, index) => `Is ${index} a large number?`)
    const body = jsonOf({ model_name: baseModel, prompt, max_tokens: 16 })
    setTimeout(underway, 1000)
    await keepAsking(calls, signal, () => ask('POST', '/v1/completions', body))
  },
}
