// `anneal models` with the verb `pull`, which needs this repository.
import type { Command } from './command.ts'
import { models } from './models.ts'

export const modelsWithPull: Command = {
  usage: models.usage.replace(
    '\n\n',
    `
       anneal models pull NAME

  pull         fetches a base model of the catalogue to where trainers and model servers of this machine look for it
`,
  ),
  // The other verbs must not wait for the files that this one loads.
  run: async (args) =>
    args[0] === 'pull' ? (await import('./pull-model.ts')).pullModel(args.slice(1)) : models.run(args),
}
