import { z } from 'zod'
import { maxEmbeddingTokens, type CatalogueEntry } from '../../domain/catalogue.ts'
import { named } from '../framework/named-schemas.ts'
import { Time } from './training-job.ts'
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
  aliases: z
    .array(z.string())
    .describe('Other names in requests. Those of a tuned model are its version and its aliases, as in support-bot@3'),
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

/** Room for a custom name of 256 characters with an alias. */
export const ModelPath = z.object({ name: pathText(384) })

export const AliasPath = z.object({ name: pathText(256), alias: pathText(256) })

export const AliasBody = named(
  'ModelAliasRequest',
  z.object({ version: z.int().min(1).max(999_999_999).describe('A version of the name') }),
)

export const MovedAlias = named(
  'MovedModelAlias',
  z.object({
    name: z.string(),
    alias: z.string(),
    version: z.int(),
    model_name: z.string().describe('The id of the version'),
    previous_version: z.int().nullable().describe('Null for a new alias'),
  }),
)

export const DeletedAlias = named(
  'DeletedModelAlias',
  z.object({ name: z.string(), alias: z.string(), message: z.string() }),
)

export const ModelVersionsQuery = z.object({
  limit: queryInt({ min: 1, max: 100 }).default(20).describe('Number of versions'),
  after: queryInt({ min: 1, max: 999_999_999 }).optional().describe('`next` of the previous page'),
})

export const ModelVersions = named(
  'ModelVersions',
  z.object({
    name: z.string().nullable().describe('Null for a model without a custom name'),
    versions: z.array(
      z.object({
        version: z.int().nullable(),
        model_name: z.string().describe('The id, which never leads to another model'),
        status: z
          .enum(['COMPLETED', 'PARTIALLY COMPLETED'])
          .describe('The name alone leads to the newest COMPLETED version'),
        job_id: z.int(),
        dataset_id: z.string(),
        base_model: z.string(),
        created_at: Time,
        parent: z
          .object({ model_name: z.string(), name: z.string().nullable(), version: z.int().nullable() })
          .nullable()
          .describe('The tuned model that its training began from; null if it was the base model'),
        evaluation: z
          .object({ rows: z.int(), path: z.string() })
          .nullable()
          .describe('Where the answers of the tuned and the base model are; null without an evaluation'),
      }),
    ),
    aliases: z.array(z.object({ alias: z.string(), version: z.int(), moved_at: Time })),
    next: z.int().nullable().describe('Send as `after` for older versions; null at the end'),
  }),
)

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
