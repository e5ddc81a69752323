// The commands that talk to a service: what each does in a sentence, and the file that does it. A file is loaded when its
// command runs. They are the commands of the package that tools/pack-cli.mjs makes.
import type { ListedCommand } from './command.ts'

export const remoteCommands: Record<string, ListedCommand> = {
  login: {
    summary: 'Keeps the address and the key of a service for later commands.',
    load: () => import('./login.ts'),
  },
  logout: {
    summary: 'Forgets the key or the sign-in of a service, and ends the sign-in at the identity provider.',
    load: () => import('./logout.ts'),
  },
  config: { summary: 'Lists, chooses and removes the services of anneal login.', load: () => import('./config.ts') },
  whoami: {
    summary: 'Shows the service, the account, and the key or the person that commands act for, until when.',
    load: () => import('./whoami.ts'),
  },
  train: { summary: 'Uploads a file and fine-tunes a model on it.', load: () => import('./train.ts') },
  jobs: { summary: 'Lists training jobs, newest first.', load: () => import('./jobs.ts') },
  job: {
    summary: 'Shows a training job: its state, its progress, and why it waits or failed.',
    load: () => import('./job.ts'),
  },
  metrics: { summary: 'Shows the losses of a training job, step by step.', load: () => import('./metrics.ts') },
  rollouts: {
    summary: 'Shows the answers that a step of reinforcement sampled, with their rewards.',
    load: () => import('./rollouts.ts'),
  },
  logs: { summary: 'Prints what the training program wrote.', load: () => import('./logs.ts') },
  events: { summary: 'Lists what happened to a training job, oldest first.', load: () => import('./events.ts') },
  attempts: {
    summary: 'Lists the attempts of a training job with their costs, newest first.',
    load: () => import('./attempts.ts'),
  },
  cancel: {
    summary:
      'Cancels a training job, or all open ones. A cancelled job saves a checkpoint, from which resume continues it.',
    load: () => import('./cancel.ts'),
  },
  resume: {
    summary: 'Continues a training job that was cancelled, failed or ended early, from its newest checkpoint.',
    load: () => import('./resume.ts'),
  },
  eval: {
    summary: 'Shows the answers of the tuned model and its base to the evaluation rows.',
    load: () => import('./eval.ts'),
  },
  evaluations: { summary: 'Compares models on the rows of a data set.', load: () => import('./evaluations.ts') },
  complete: { summary: 'Completes prompts with a base or tuned model.', load: () => import('./complete.ts') },
  chat: { summary: 'Talks with a model; the answer appears as it is written.', load: () => import('./chat.ts') },
  embed: { summary: 'Turns texts into vectors, one JSON list a line.', load: () => import('./embed.ts') },
  batch: {
    summary: 'Completes or embeds many texts in the background; lists and cancels batches.',
    load: () => import('./batch.ts'),
  },
  upload: { summary: 'Uploads a data set for later training jobs.', load: () => import('./upload.ts') },
  data: { summary: 'Lists, checks and deletes data sets.', load: () => import('./data.ts') },
  models: { summary: 'Lists, names, downloads and deletes models.', load: () => import('./models.ts') },
  export: {
    summary: 'Writes an account to a folder: models, data sets, files, evals, and jobs as history.',
    load: () => import('./export.ts'),
  },
  import: {
    summary: 'Brings the account of a folder of `anneal export` into this account. A repeat changes nothing.',
    load: () => import('./import.ts'),
  },
  usage: { summary: 'Shows what each key has used of each model.', load: () => import('./usage.ts') },
  limits: { summary: 'Shows the limits of the account, and what is left of each.', load: () => import('./limits.ts') },
  webhooks: { summary: 'Manages webhooks and their deliveries.', load: () => import('./webhooks.ts') },
  audit: {
    summary: 'Lists what the keys of the account have changed, newest first. The key needs the scope admin.',
    load: () => import('./audit.ts'),
  },
  keys: {
    summary: 'Creates, lists, revokes and rotates API keys. A new key is printed only once.',
    load: () => import('./keys.ts'),
  },
  accounts: {
    summary: 'Creates, lists and deletes accounts, and sets their priority.',
    load: () => import('./accounts.ts'),
  },
  operator: {
    summary: 'Shows operators the jobs and the usage of all accounts, and stops new work for a maintenance.',
    load: () => import('./operator.ts'),
  },
  mcp: {
    summary: 'Serves the tools of an assistant (Model Context Protocol) on standard input and output.',
    load: () => import('./mcp.ts'),
  },
  completion: { summary: 'Prints the completion script of a shell.', load: () => import('./completion.ts') },
}
