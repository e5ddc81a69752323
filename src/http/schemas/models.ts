import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { pathText, queryInt, queryText } from '../framework/params.ts'

const Model = z.object({
  id: z.string().describe('Used as model_name in requests'),
  object: z.literal('model'),
  created: z.int().describe('Seconds since 1970; 0 for the models of the catalogue'),
  owned_by: z.enum(['catalogue', 'account']),
  task: z.enum(['completion', 'embedding']),
  aliases: z.array(z.string()),
  base_model: z.string().nullable().describe('Null for a base model'),
  job_id: z.int().nullable(),
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
