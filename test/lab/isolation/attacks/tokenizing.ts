import { jsonOf } from '../accounts.ts'
import type { Attack } from '../attack.ts'
import { completion } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 10
const texts = 100
/** Just below the length that is refused without a look: 256 characters for each token of the context. */
const characters = 260_000
const words = ['tundra', 'backpack', 'made', 'where', 'stock', 'colour', 'price', 'owner']

export const tokenizing: Attack = {
  name: 'tokenizing',
  what: 'ten connections send prompts of 260,000 characters, which are tokenized before they are refused as too long',
  seconds: 30,
  probes: (stage) => [completion(stage)],
  async run({ baseModel, signal, ask, underway }) {
    // Many texts, so that no cache helps.
    const bodies = Array.from({ length: texts }, (_, index) =>
      jsonOf({ model_name: baseModel, prompt: longText(index * 7), max_tokens: 1 }),
    )
    underway()
    await keepAsking(connections, signal, (connection, turn) =>
      ask('POST', '/v1/completions', bodies[(turn * connections + connection) % texts]),
    )
  },
}

function longText(seed: number): string {
  let text = ''
  for (let index = seed; text.length < characters; index++) text += `${words[index % words.length]}${index} `
  return text.slice(0, characters)
}
