import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'

export const Person = named(
  'Person',
  z.object({
    id: z.string().describe('The id that the identity provider gives the person: the claim sub'),
    mail: z.string().nullable().describe('The mail address of the person; null if the identity provider names none'),
  }),
)
