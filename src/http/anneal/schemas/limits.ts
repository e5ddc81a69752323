import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'

const Quota = z.object({
  name: z.string().describe('A stable name, such as open_jobs'),
  title: z.string().describe('What is counted, in words'),
  limit: z.number().describe('The most that the account may have'),
  used: z.number().describe('What the account has now'),
  left: z.number().describe('limit less used, at least 0'),
  when_full: z
    .enum(['refuses', 'waits', 'drops_oldest'])
    .describe(
      'refuses: a request beyond it gets 409 or 429; waits: what is beyond it waits for its turn; drops_oldest: the oldest entry makes room',
    ),
})

export const Limits = named(
  'Limits',
  z.object({
    limits: z.array(Quota).describe('The quotas of the account'),
    requests: z
      .object({
        per_second: z.int().describe('Requests a second'),
        burst: z.int().describe('Requests at once after a pause'),
        running: z.int().describe('Requests that may run at the same time, in each api process'),
      })
      .describe('What each key may send; beyond it requests get 429'),
  }),
)
