// Tools that ask models and judge their answers.
import { setTimeout as sleep } from 'node:timers/promises'
import { CommandError } from '../command-error.ts'
import type { Client } from '../remote/client.ts'
import { jobFacts } from './job-facts.ts'
import { z } from './sdk.ts'
import { defineTool } from './tool.ts'

const lookAgainMs = 1000

const evaluate = defineTool({
  name: 'evaluate',
  title: 'Evaluate models on a data set',
  says: 'All models answer the rows of a data set, and graders score the answers. The others are compared with the first model, so name the base first. If it takes longer than the seconds, the answer has the id for describe. Costs computing time.',
  danger: 'adds',
  takes: {
    models: z.array(z.string().min(1)).min(1).max(8),
    dataset_id: z.string().min(1),
    graders: z.array(z.string()).min(1).optional().describe('Default: chosen by the expected outputs'),
    max_rows: z.int().min(1).max(2000).default(100).describe('The most rows that are answered'),
    max_tokens: z.int().min(1).max(4096).optional().describe('The most tokens of an answer'),
    as_chat: z
      .boolean()
      .optional()
      .describe('Whether rows without messages are asked as chats. Default: as each model learned'),
    system: z
      .string()
      .optional()
      .describe('The system message of chats without one of their own; "" for none. Default: the one that was learned'),
    skip_bad_rows: z.boolean().optional().describe('true leaves out the rows that cannot be evaluated'),
    seconds: z.int().min(0).max(45).default(40).describe('How long to wait for the end'),
  },
  async run({ client, input: { seconds, ...body }, signal }) {
    const { id } = await client.post('/v1/evaluations', { body })
    for (const until = performance.now() + seconds * 1000; ;) {
      const evaluation = await client.get('/v1/evaluations/:id', { params: { id } })
      if (evaluation.finished_at !== null || performance.now() >= until) return evaluation
      await sleep(lookAgainMs, undefined, { signal })
    }
  },
})

const compare = defineTool({
  name: 'compare',
  title: 'Compare training jobs',
  says: 'Sets jobs side by side: the arguments in which they differ, data set, newest losses, times, and the scores of their models beside the base.',
  danger: 'reads',
  takes: { job_ids: z.array(z.int().min(1)).min(2).max(8) },
  async run({ client, input: { job_ids: ids } }) {
    const jobs = await Promise.all(
      ids.map((id) => client.get('/v1/train/jobs/:job_id', { params: { job_id: String(id) } })),
    )
    const names = new Set(jobs.flatMap(({ finetune_args: args }) => Object.keys(args)))
    const differing = [...names].filter(
      (name) => new Set(jobs.map((job) => JSON.stringify(job.finetune_args[name]))).size > 1,
    )
    const scores = await Promise.all(jobs.map(({ model_name: name }) => scoresOf(client, name)))
    return jobs.map((job, index) => ({
      ...jobFacts(job),
      arguments: Object.fromEntries(differing.map((name) => [name, job.finetune_args[name]])),
      scores: scores[index],
    }))
  },
})

async function scoresOf(client: Client, name: string | null) {
  if (name === null) return null
  const { versions } = await client.get('/v1/models/:name', { params: { name }, query: { limit: '1' } })
  return versions[0]?.evaluation?.scores ?? null
}

const ask = defineTool({
  name: 'ask',
  title: 'Ask models',
  says: 'Up to four models answer the same prompt or conversation. `messages` goes through the chat template, as a model that learned conversations expects; `prompt` is sent as it is, as a model that learned pairs or texts expects, or with as_chat as the message of a user.',
  danger: 'reads',
  takes: {
    models: z.array(z.string().min(1)).min(1).max(4),
    prompt: z.string().optional(),
    messages: z
      .array(z.object({ role: z.enum(['system', 'user', 'assistant']), content: z.string() }))
      .min(1)
      .optional(),
    as_chat: z.boolean().optional().describe('true sends `prompt` through the chat template'),
    system: z
      .string()
      .optional()
      .describe('With as_chat, the system message; "" for none. Default: the one that the model learned'),
    max_tokens: z.int().min(1).max(2000).default(256),
    temperature: z.number().min(0).max(2).default(0),
  },
  async run({ client, input: { models, prompt, messages, as_chat, system, ...sampling } }) {
    if ((prompt === undefined) === (messages === undefined)) throw new CommandError('Give either prompt or messages.')
    if (messages && (as_chat !== undefined || system !== undefined))
      throw new CommandError('as_chat and system are for prompt. Begin messages with a message of the role system.')
    if (system !== undefined && !as_chat) throw new CommandError('system needs "as_chat": true.')
    return Promise.all(
      models.map(async (model) => ({
        model,
        ...(messages
          ? await chatAnswer(client, { model, messages, ...sampling })
          : await promptAnswer(client, { model_name: model, prompt, as_chat, system, ...sampling })),
      })),
    )
  },
})

type PromptBody = {
  model_name: string
  prompt: string | undefined
  as_chat: boolean | undefined
  system: string | undefined
}

async function promptAnswer(client: Client, body: PromptBody) {
  const { outputs, finish_reason: reasons } = await client.post('/v2/completions', { body })
  return { answer: outputs[0]?.output, finish_reason: reasons[0] }
}

async function chatAnswer(client: Client, body: { model: string; messages: object[] }) {
  const { choices } = await client.post('/openai/v1/chat/completions', { body })
  return { answer: choices[0]?.message.content, finish_reason: choices[0]?.finish_reason }
}

export const askingTools = [evaluate, compare, ask]
