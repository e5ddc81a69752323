// Every command: what it does in a sentence, and the file that does it. A file is loaded when its command runs.
import type { Command } from './command.ts'

export type ListedCommand = { summary: string; load: () => Promise<Command> }

export const commands: Record<string, ListedCommand> = {
  start: {
    summary: 'Runs the whole service on this machine, in the foreground, until Ctrl-C or `anneal stop`.',
    load: async () => (await import('./start.ts')).start,
  },
  stop: {
    summary: 'Stops the service that runs on a data directory, and waits until it is gone.',
    load: async () => (await import('./stop.ts')).stop,
  },
  demo: {
    summary: 'Fine-tunes the default base model on 40 sample rows and compares it with the base.',
    load: async () => (await import('./demo.ts')).demo,
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
  complete: {
    summary: 'Completes prompts with a base or tuned model.',
    load: async () => (await import('./complete.ts')).complete,
  },
  embed: {
    summary: 'Turns texts into vectors, one JSON list a line.',
    load: async () => (await import('./embed.ts')).embed,
  },
  upload: {
    summary: 'Uploads a data set for later training jobs.',
    load: async () => (await import('./upload.ts')).upload,
  },
  keys: {
    summary: 'Creates, lists, revokes and rotates API keys. A new key is printed only once.',
    load: async () => (await import('./keys.ts')).keys,
  },
  accounts: {
    summary: 'Creates, lists and deletes accounts, and sets their priority.',
    load: async () => (await import('./accounts.ts')).accounts,
  },
  migrate: {
    summary: 'Migrates the database in DATABASE_URL to the schema of this version. A repeat changes nothing.',
    load: async () => (await import('./migrate.ts')).migrate,
  },
  register: {
    summary:
      'Creates the namespace and the search attributes of the worker in the Temporal server at TEMPORAL_ADDRESS.',
    load: async () => (await import('./register.ts')).register,
  },
}
