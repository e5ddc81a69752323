import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'
import { ModelName, Prompt } from './prompt.ts'

export const Truncate = z
  .boolean()
  .nullish()
  .describe("true embeds only the beginning of a long text, as much as the model's context_length holds")

export const EmbeddingRequest = named(
  'EmbeddingRequest',
  z.object({
    prompt: Prompt,
    model_name: ModelName.nullish().describe('The embedding model; the first one of the catalogue when absent'),
    truncate: Truncate,
  }),
)

const Vector = z.array(z.number())

export const EmbeddingAnswer = named(
  'EmbeddingAnswer',
  z.object({
    embedding: z
      .union([Vector, z.array(Vector)])
      .describe('One vector for one text, a list of vectors for a list of texts'),
  }),
)
