import { z } from 'zod'
import { invalidInput } from '../../domain/service-error.ts'
import { mapInTurns } from '../../map-in-turns.ts'
import { createEmbeddings } from '../../services/embeddings/create.ts'
import { pinModel } from '../../services/models/find-tuned.ts'
import { named } from '../kit/named-schemas.ts'
import { defineRoute } from '../kit/route.ts'
import { promptsOf } from '../lamini/completion-input.ts'
import { Truncate } from '../lamini/schemas/embeddings.ts'
import { ModelName, Prompt } from '../lamini/schemas/prompt.ts'
import { translateErrors } from './errors.ts'
import { answeredName, countTokens } from './generation.ts'
import { ignoredText } from './unsupported-params.ts'

export const EmbeddingRequest = named(
  'OpenAiEmbeddingRequest',
  z.strictObject({
    model: ModelName,
    input: Prompt,
    encoding_format: z.enum(['float', 'base64']).nullish().describe('base64: 32-bit floats, little-endian'),
    dimensions: z.int().min(1).nullish().describe("The size of the model's vectors; no other is supported"),
    truncate: Truncate,
    user: ignoredText(),
  }),
)

const EmbeddingList = named(
  'OpenAiEmbeddingList',
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z
      .array(
        z.object({
          object: z.literal('embedding').describe('Always embedding'),
          index: z.int().describe('The position of the text, from 0'),
          embedding: z.union([z.array(z.number()), z.string()]).describe('The vector: numbers, or text in base64'),
        }),
      )
      .describe('The vectors, in the order of the texts'),
    model: z.string().describe('The model that answered'),
    usage: z
      .object({
        prompt_tokens: z.int().describe('Tokens of the texts'),
        total_tokens: z.int().describe('The same number'),
      })
      .describe('The tokens of the request'),
  }),
)

export const embeddingRoutes = [
  defineRoute({
    name: 'openai_embeddings',
    method: 'post',
    path: '/openai/v1/embeddings',
    summary: 'Embed one text or many',
    access: 'key',
    scope: 'inference',
    body: EmbeddingRequest,
    bodyLimitBytes: 64 * 1024 * 1024,
    allowsNul: true,
    errorStatuses: [404],
    response: EmbeddingList,
    async handle({
      caller: ctx,
      body: { model: asked, input, encoding_format: format, dimensions, truncate },
      signal,
    }) {
      const { modelName: model } = await pinModel(ctx, asked)
      const tokens = countTokens()
      const vectors = await translateErrors({ prompt: 'input' }, () =>
        createEmbeddings({
          ctx,
          input: { modelName: model, texts: promptsOf({ prompt: input }), onLong: truncate ? 'cut' : 'refuse' },
          signal,
          onUsage: tokens.onUsage,
        }),
      )
      const size = vectors[0]?.length
      if (dimensions && size !== undefined && dimensions !== size)
        throw invalidInput('dimensions', `dimensions must be ${size}: the vectors of this model have no other size.`)
      const { prompt_tokens } = tokens.onWire()
      const embeddings = format === 'base64' ? await mapInTurns(vectors, vectorsOfTurn, base64Of) : vectors
      return {
        object: 'list' as const,
        data: embeddings.map((embedding, index) => ({ object: 'embedding' as const, index, embedding })),
        model: answeredName(ctx, asked, model),
        usage: { prompt_tokens, total_tokens: prompt_tokens },
      }
    },
  }),
]

/** So many vectors take a few milliseconds. */
const vectorsOfTurn = 500

const base64Of = (vector: readonly number[]) => Buffer.from(Float32Array.from(vector).buffer).toString('base64')
