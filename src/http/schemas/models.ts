import { z } from 'zod'
import { named } from '../edge/named-schemas.ts'

export const ModelList = named(
  'ModelList',
  z.object({
    object: z.literal('list'),
    data: z.array(
      z.object({
        id: z.string().describe('The model_name of requests'),
        object: z.literal('model'),
        created: z.int().describe('Seconds since 1970; 0 for the models of the catalogue'),
        owned_by: z.enum(['catalogue', 'account']),
        task: z.enum(['completion', 'embedding']),
        aliases: z.array(z.string()),
        base_model: z.string().nullable().describe('Null for a base model'),
        job_id: z.int().nullable(),
      }),
    ),
  }),
)
