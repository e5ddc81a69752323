// The commands that talk to a service: what each does in a sentence, and the file that does it. A file is loaded when its
// command runs. They are the commands of the package that tools/pack-cli.mjs makes.
import type { ListedCommand } from './command.ts'

export const remoteCommands: Record<string, ListedCommand> = {
  login: {
    summary: 'Keeps the address and the key of a service for later commands.',
    load: async () => (await import('./login.ts')).login,
  },
  config: {
    summary: 'Lists, chooses and removes the services of anneal login.',
    load: async () => (await import('./config.ts')).config,
  },
  train: {
    summary: 'Uploads a file and fine-tunes a model on it.',
    load: async () => (await import('./train.ts')).train,
  },
  jobs: {
    summary: 'Lists training jobs, newest first.',
    load: async () => (await import('./jobs.ts')).jobs,
  },
  job: {
    summary: 'Shows a training job: its state, its progress, and why it waits or failed.',
    load: async () => (await import('./job.ts')).job,
  },
  metrics: {
    summary: 'Shows the losses of a training job, step by step.',
    load: async () => (await import('./metrics.ts')).metrics,
  },
  logs: {
    summary: 'Prints what the training program wrote.',
    load: async () => (await import('./logs.ts')).logs,
  },
  events: {
    summary: 'Lists what happened to a training job, oldest first.',
    load: async () => (await import('./events.ts')).events,
  },
  attempts: {
    summary: 'Lists the attempts of a training job with their costs, newest first.',
    load: async () => (await import('./attempts.ts')).attempts,
  },
  cancel: {
    summary: 'Cancels a training job, or all open ones.',
    load: async () => (await import('./cancel.ts')).cancel,
  },
  resume: {
    summary: 'Continues a training job that was cancelled, failed or ended early, from its newest checkpoint.',
    load: async () => (await import('./resume.ts')).resume,
  },
  eval: {
    summary: 'Shows the answers of the tuned model and its base to the evaluation rows.',
    load: async () => (await import('./eval.ts')).evaluation,
  },
  evaluations: {
    summary: 'Compares models on the rows of a data set.',
    load: async () => (await import('./evaluations.ts')).evaluations,
  },
  complete: {
    summary: 'Completes prompts with a base or tuned model.',
    load: async () => (await import('./complete.ts')).complete,
  },
  chat: {
    summary: 'Talks with a model; the answer appears as it is written.',
    load: async () => (await import('./chat.ts')).chat,
  },
  embed: {
    summary: 'Turns texts into vectors, one JSON list a line.',
    load: async () => (await import('./embed.ts')).embed,
  },
  batch: {
    summary: 'Completes or embeds many texts in the background.',
    load: async () => (await import('./batch.ts')).batch,
  },
  upload: {
    summary: 'Uploads a data set for later training jobs.',
    load: async () => (await import('./upload.ts')).upload,
  },
  data: {
    summary: 'Lists, checks and deletes data sets.',
    load: async () => (await import('./data.ts')).data,
  },
  models: {
    summary: 'Lists, names, downloads and deletes models.',
    load: async () => (await import('./models.ts')).models,
  },
  usage: {
    summary: 'Shows what each key has used of each model.',
    load: async () => (await import('./usage.ts')).usage,
  },
  limits: {
    summary: 'Shows the limits of the account, and what is left of each.',
    load: async () => (await import('./limits.ts')).limits,
  },
  webhooks: {
    summary: 'Manages webhooks and their deliveries.',
    load: async () => (await import('./webhooks.ts')).webhooks,
  },
  audit: {
    summary: 'Lists what the keys of the account have changed, newest first.',
    load: async () => (await import('./audit.ts')).audit,
  },
  keys: {
    summary: 'Creates, lists, revokes and rotates API keys. A new key is printed only once.',
    load: async () => (await import('./keys.ts')).keys,
  },
  accounts: {
    summary: 'Creates, lists and deletes accounts, and sets their priority.',
    load: async () => (await import('./accounts.ts')).accounts,
  },
  completion: {
    summary: 'Prints the completion script of a shell.',
    load: async () => (await import('./completion.ts')).completion,
  },
}
