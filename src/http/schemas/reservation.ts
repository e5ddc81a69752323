import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { ModelName } from './prompt.ts'

const Count = z
  .int()
  .min(0)
  .max(2 ** 31 - 1)
  .nullish()

export const ReservationRequest = named(
  'ReservationRequest',
  z.object({ capacity: Count, model_name: ModelName.nullish(), max_tokens: Count, batch_size: Count }),
)

export const Reservation = named(
  'Reservation',
  z.object({
    reservation_id: z.int(),
    capacity_remaining: z.int().describe('Number of prompts to send before the next reservation'),
    dynamic_max_batch_size: z.int().min(1).describe('The best number of prompts per request'),
    start_time: z.string().describe('The current time in UTC'),
    end_time: z.string(),
  }),
)

export const DownloadRequest = named(
  'DownloadRequest',
  z.object({ hf_model_name: ModelName, model_type: z.string().nullish() }),
)

export const DownloadedModel = named(
  'DownloadedModel',
  z.object({
    model_id: z.int().describe('The position in the catalogue, from 1'),
    model_name: z.string(),
    model_type: z.enum(['transformer', 'embedding']),
    user_id: z.null(),
    is_public: z.boolean(),
    creation_ts: z.null(),
    prev_download_ts: z.null(),
    prev_download_error: z.null(),
    download_attempts: z.int(),
    status: z.literal('available'),
  }),
)

export const DownloadedModels = named('DownloadedModels', z.array(DownloadedModel))
