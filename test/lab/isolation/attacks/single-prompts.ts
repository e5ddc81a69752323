import { createAsk, jsonOf, openAccount } from '../accounts.ts'
import type { Attack } from '../attack.ts'
import { largeCall } from '../probes.ts'
import { keepAsking } from './connections.ts'

export const singlePrompts: Attack = {
  name: 'single-prompts',
  what: 'three accounts ask single prompts, one after the other, beside a call of 10,000 prompts of the victim',
  // The large call keeps 0.9 of its speed.
  maxRatio: 1 / 0.9,
  seconds: 120,
  async prepare({ connection, attacker }) {
    const others = await Promise.all([openAccount(connection, 'second'), openAccount(connection, 'third')])
    return { keys: [attacker.apiKey, ...others.map(({ apiKey }) => apiKey)] }
  },
  probes: (stage) => [largeCall(stage)],
  async run({ apiUrl, baseModel, prepared, signal, count, underway }) {
    const asks = (prepared['keys'] ?? []).map((key) => createAsk(apiUrl, key))
    const body = jsonOf({ model_name: baseModel, prompt: 'What is red?', max_tokens: 8 })
    underway()
    await Promise.all(
      asks.map((ask) =>
        keepAsking(1, signal, async () => {
          const answer = await ask('POST', '/v1/completions', body, signal)
          count(answer)
          return answer
        }),
      ),
    )
  },
}
