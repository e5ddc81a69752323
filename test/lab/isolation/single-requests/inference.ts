// Prompts, texts to embed, and their batches.
import type { Answer } from '../accounts.ts'
import { isWhole } from '../probes.ts'
import type { Asker, Extreme } from './extreme.ts'
import { settled } from './settle.ts'
import { emoji, escapes, largeBody, list, longestText, manyNames, ordinaryBody, record, words } from './texts.ts'

const prompts = list(10_000, (at) => words(60, at))
const model = ({ baseModel }: Asker) => ({ model_name: baseModel })
const few = { max_tokens: 1 }

const wideType = record(
  64,
  (at) => list(50, (value) => `value ${at} ${value}`),
  (at) => `${at}`.padEnd(64, 'n'),
)

/** Fields of a completion that many routes share. */
const completions: Extreme[] = [
  { what: '10,000 prompts', sent: (_, asker) => ({ body: { ...model(asker), prompt: prompts, ...few } }) },
  { what: 'a prompt of 64 MB', sent: (_, asker) => ({ body: { ...model(asker), prompt: words(largeBody) } }) },
  {
    what: 'four prompts of 16 MB',
    sent: (_, asker) => ({ body: { ...model(asker), prompt: list(4, (at) => words(longestText - 100, at)) } }),
  },
  {
    what: 'a prompt of 16 MB of emoji',
    sent: (_, asker) => ({ body: { ...model(asker), prompt: emoji(longestText) } }),
  },
  {
    what: 'a prompt of 16 MB of escapes',
    sent: (_, asker) => ({ body: { ...model(asker), prompt: escapes(longestText) } }),
  },
  {
    what: '250 prompts of 262,000 characters',
    sent: (_, asker) => ({ body: { ...model(asker), prompt: list(250, (at) => words(262_000, at)), ...few } }),
  },
  {
    what: 'a type of 64 fields with long enums',
    sent: (_, asker) => ({
      body: { ...model(asker), prompt: 'Who?', output_type: wideType, out_type: wideType, ...few },
    }),
  },
  {
    what: '10 prompts with a type of 64 fields',
    sent: (_, asker) => ({
      body: { ...model(asker), prompt: prompts.slice(0, 10), output_type: record(64, () => 'bool') },
    }),
  },
  {
    what: '16 stops of 1,000 characters to an answer of 1,000 tokens',
    sent: (_, asker) => ({
      body: { ...model(asker), prompt: 'Who?', stop: list(16, (at) => words(1000, at)), max_tokens: 1000 },
    }),
  },
  {
    what: 'unknown fields of 64 MB',
    sent: (_, asker) => ({
      body: { ...model(asker), prompt: 'Who?', ...few, other: list(4, (at) => words(longestText - 100, at)) },
    }),
  },
  {
    what: '400,000 values in unknown fields',
    sent: (_, asker) => ({
      body: { ...model(asker), prompt: 'Who?', ...few, other: manyNames(400_000) },
    }),
  },
]

const texts: Extreme[] = [
  { what: '10,000 texts', sent: () => ({ body: { prompt: prompts } }) },
  { what: 'a text of 16 MB, cut', sent: () => ({ body: { prompt: words(longestText), truncate: true } }) },
  {
    what: '1,000 texts of 65,000 characters, cut',
    sent: () => ({ body: { prompt: list(1000, (at) => words(65_000, at)), truncate: true } }),
  },
  {
    what: '1,000 texts of 65,000 emoji bytes, cut',
    sent: () => ({ body: { prompt: list(1000, () => emoji(65_000)), truncate: true } }),
  },
  { what: 'a text of 16 MB of escapes', sent: () => ({ body: { prompt: escapes(longestText) } }) },
]

const key = { 'idempotency-key': 'k'.repeat(255) }
/** The same requests as a batch, each with a key of its own, because the body of one with a key is hashed. */
const asBatch = (extremes: readonly Extreme[], path: string): Extreme[] =>
  extremes.map(({ what, sent }) => ({
    what,
    sent: async (stock, asker) => ({
      headers: { 'idempotency-key': `${key['idempotency-key'].slice(40)}${Math.random()}` },
      ...(await sent(stock, asker)),
    }),
    settle: async (answer, asker) => {
      const id = idOf(answer)
      if (id !== undefined) await settled(asker, `${path}/${id}/result`, isWholeBatch)
    },
  }))

const idOf = ({ status, body }: Answer) => (status === 200 ? (body as { id: string }).id : undefined)
const isWholeBatch = (answer: Answer) =>
  answer.status !== 200 || isWhole(answer) || (answer.body as { embedding?: unknown[] }).embedding !== undefined

export const inference: Record<string, Extreme[]> = {
  completions,
  completions_v2: completions.slice(0, 2),
  streaming_completions_v1: completions.slice(0, 2),
  batch_completions: asBatch(completions, '/v1/batch_completions'),
  list_batches: [{ what: '100 batches', sent: () => ({ query: 'limit=100' }) }],
  batch_completions_result: [{ what: '10,000 answers', sent: ({ completionBatch: id }) => ({ params: { id } }) }],
  streaming_completions: asBatch(
    [
      {
        what: '200 prompts',
        sent: (_, asker) => ({ body: { ...model(asker), prompt: prompts.slice(0, 200), ...few } }),
      },
    ],
    '/v3/streaming_completions',
  ),
  streaming_completions_result: [{ what: '200 answers', sent: ({ streamedBatch: id }) => ({ params: { id } }) }],
  embedding: texts,
  batch_embeddings: asBatch(texts, '/v1/batch_embeddings'),
  batch_embeddings_result: [{ what: '10,000 vectors', sent: ({ embeddingBatch: id }) => ({ params: { id } }) }],
  openai_embeddings: ['float', 'base64'].flatMap((format) =>
    texts.map(({ what, sent }) => ({
      what: `${what}, as ${format}`,
      async sent(stock, asker) {
        const { body } = await sent(stock, asker)
        const { prompt, ...rest } = body as { prompt: unknown }
        return { body: { model: stock.embeddingModel, input: prompt, encoding_format: format, ...rest } }
      },
    })),
  ),
  openai_completions: [
    {
      what: '10,000 prompts',
      sent: (_, { baseModel }) => ({ body: { model: baseModel, prompt: prompts, max_tokens: 1 } }),
    },
    {
      what: '10,000 prompts, streamed',
      sent: (_, { baseModel }) => ({ body: { model: baseModel, prompt: prompts, max_tokens: 1, stream: true } }),
    },
    {
      what: '400,000 token ids in 1,000 prompts',
      sent: (_, { baseModel }) => ({
        body: { model: baseModel, prompt: list(1000, () => list(400, (at) => at % 200)), max_tokens: 1 },
      }),
    },
    {
      what: 'a prompt of 400,000 token ids',
      sent: (_, { baseModel }) => ({
        body: { model: baseModel, prompt: list(400_000, (at) => at % 200), max_tokens: 1 },
      }),
    },
    {
      what: '100 choices of 200 tokens with 20 log probabilities',
      sent: (_, { baseModel }) => ({
        body: { model: baseModel, prompt: 'Who?', n: 100, max_tokens: 200, logprobs: 20, echo: true },
      }),
    },
    {
      what: '100 choices of 200 tokens with 20 log probabilities, streamed',
      sent: (_, { baseModel }) => ({
        body: { model: baseModel, prompt: 'Who?', n: 100, max_tokens: 200, logprobs: 20, stream: true },
      }),
    },
    {
      what: 'a bias of 1,024 tokens',
      sent: (_, { baseModel }) => ({
        body: {
          model: baseModel,
          prompt: 'Who?',
          max_tokens: 1,
          logit_bias: record(
            1024,
            () => 1,
            (at) => `${at}`,
          ),
        },
      }),
    },
    {
      what: 'a prompt of 16 MB',
      sent: (_, { baseModel }) => ({ body: { model: baseModel, prompt: words(longestText) } }),
    },
  ],
  reservation: [
    { what: 'an unknown field of a megabyte', sent: () => ({ body: { capacity: 1, other: words(ordinaryBody) } }) },
  ],
}
