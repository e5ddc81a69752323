// `anneal models` with the verb `pull`, which needs this repository.
import { defineVerb, type Command } from './command.ts'
import { command as models } from './models.ts'

export const command: Command = {
  ...models,
  pull: defineVerb({
    says: 'fetches a base model of the catalogue to where trainers and model servers of this machine look for it',
    takes: { NAME: '' },
    // The other verbs must not wait for the files that this one loads.
    run: async ([name = '']) => (await import('./pull-model.ts')).pullModel(name),
  }),
}
