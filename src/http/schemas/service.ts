import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'

export const Version = named(
  'Version',
  z.object({
    api: z.array(z.object({ name: z.string(), path: z.string() })),
    server: z.string(),
    client: z.string().describe('Versions of the lamini SDK that are tested with this service'),
  }),
)

export const Health = named('Health', z.object({ status: z.literal('ok') }))

export const OpenApiDocument = named('OpenApiDocument', z.looseObject({ openapi: z.string() }))
