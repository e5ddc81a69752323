import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'

export const Version = named(
  'Version',
  z.object({
    api: z
      .array(
        z.object({ name: z.string().describe('The operation id of the route'), path: z.string().describe('Its path') }),
      )
      .describe('The routes of the service'),
    server: z.string().describe('The version of Anneal'),
    client: z.string().describe('Versions of the lamini SDK that are tested with this service'),
  }),
)

export const Health = named(
  'Health',
  z.object({ status: z.literal('ok').describe('Always ok; a problem is an error status') }),
)

export const OpenApiQuery = z.strictObject({
  version: z
    .enum(['3.0', '3.1'])
    .optional()
    .describe('3.0 is for generators that know no newer version; it leaves out aliases and webhooks. Default 3.1'),
})

export const OpenApiDocument = named(
  'OpenApiDocument',
  z.looseObject({ openapi: z.string().describe('The version of OpenAPI that the document is written in') }),
)
