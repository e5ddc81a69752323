import { z } from 'zod'
import { maxEmbeddingTokens, type CatalogueEntry } from '../../domain/catalogue.ts'
import { named } from '../framework/named-schemas.ts'
import { pathText, queryInt, queryText } from '../framework/params.ts'

/** The models of /openai/v1 have these fields too. */
export const modelLimits = {
  context_length: z
    .int()
    .nullable()
    .describe('Tokens that the model reads at once, such as a prompt with its answer. Null if the base is gone'),
  max_input_tokens: z.int().nullable().describe('The most tokens of a text to embed'),
}

/** @param entry the catalogue's entry of the model or of its base */
export const limitsOf = (entry: CatalogueEntry | undefined) => ({
  context_length: entry?.contextLength ?? null,
  max_input_tokens: entry ? maxEmbeddingTokens(entry) : null,
})

const Model = z.object({
  id: z.string().describe('Used as model_name in requests'),
  object: z.literal('model'),
  created: z.int().describe('Seconds since 1970; 0 for the models of the catalogue'),
  owned_by: z.enum(['catalogue', 'account']),
  task: z.enum(['completion', 'embedding']),
  aliases: z.array(z.string()),
  base_model: z.string().nullable().describe('Null for a base model'),
  job_id: z.int().nullable(),
  ...modelLimits,
})
export type Model = z.output<typeof Model>

export const ModelList = named('ModelList', z.object({ object: z.literal('list'), data: z.array(Model) }))

export const ModelListQuery = z.object({
  limit: queryInt({ min: 1, max: 1000 })
    .optional()
    .describe('Number of tuned models; all when absent. The base models come with the first page and do not count'),
  after: queryText().optional().describe('The cursor from the Link header of the previous page'),
})

export const ModelPath = z.object({ name: pathText(256) })

export const ModelDownload = named(
  'ModelDownload',
  z.object({
    model_name: z.string(),
    base_model: z.string(),
    expires_in: z.int().describe('Seconds until the links expire'),
    files: z.array(
      z.object({
        name: z.string().describe('anneal.json is the manifest'),
        url: z.string(),
        size: z.int().describe('In bytes'),
        sha256: z.string(),
      }),
    ),
  }),
)

export const ModelDeleted = named('ModelDeleted', z.object({ model_name: z.string(), message: z.string() }))
