import type { Attack } from '../attack.ts'
import { typedCompletion } from '../probes.ts'
import { keepAsking } from './connections.ts'

const connections = 200

export const grammars: Attack = {
  name: 'grammars',
  what: '200 connections ask for typed answers, each time of a type that was never seen before',
  seconds: 30,
  probes: (stage) => [typedCompletion(stage)],
  async run({ baseModel, signal, ask, underway }) {
    underway()
    await keepAsking(connections, signal, (connection, turn) =>
      ask('POST', '/v1/completions', {
        model_name: baseModel,
        prompt: 'What is it?',
        output_type: newType(`${connection}_${turn}`),
        max_tokens: 8,
      }),
    )
  },
}

const newType = (word: string) =>
  Object.fromEntries(
    ['str', 'int', 'float', 'bool'].flatMap((type) =>
      Array.from({ length: 4 }, (_, index) => [`${type}_${index}_${word}`, type]),
    ),
  )
