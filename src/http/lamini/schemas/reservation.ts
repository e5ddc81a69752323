import { z } from 'zod'
import { named } from '../../kit/named-schemas.ts'
import { ModelName } from './prompt.ts'

const Count = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
  .nullish()
  .describe('A number of prompts or tokens')

export const ReservationRequest = named(
  'ReservationRequest',
  z.object({ capacity: Count, model_name: ModelName.nullish(), max_tokens: Count, batch_size: Count }),
)

export const Reservation = named(
  'Reservation',
  z.object({
    reservation_id: z.int().describe('A number that means nothing: nothing is reserved'),
    capacity_remaining: z.int().describe('Number of prompts to send before the next reservation'),
    dynamic_max_batch_size: z.int().min(1).describe('The best number of prompts per request'),
    start_time: z.string().describe('The current time in UTC'),
    end_time: z.string().describe('When to ask again, in UTC'),
  }),
)

export const DownloadRequest = named(
  'DownloadRequest',
  z.object({ hf_model_name: ModelName, model_type: z.string().nullish().describe('Accepted and ignored') }),
)

export const DownloadedModel = named(
  'DownloadedModel',
  z.object({
    model_id: z.int().describe('The position in the catalogue, from 1'),
    model_name: z.string().describe('The catalogue name of the model'),
    model_type: z
      .enum(['transformer', 'embedding'])
      .describe('transformer: for completions; embedding: for embeddings'),
    user_id: z.null().describe('Always null: the models of the catalogue belong to nobody'),
    is_public: z.boolean().describe('Always true: every account may use the catalogue'),
    creation_ts: z.null().describe('Always null'),
    prev_download_ts: z.null().describe('Always null'),
    prev_download_error: z.null().describe('Always null: nothing is downloaded on request'),
    download_attempts: z.int().describe('Always 1'),
    status: z.literal('available').describe('Always available'),
  }),
)

export const DownloadedModels = named('DownloadedModels', z.array(DownloadedModel))
