// Routes that clients of the old platform call before they send prompts: batch sizes, and the available models.
import type { CatalogueEntry } from '../../domain/catalogue.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { wireTime } from '../../domain/timestamps.ts'
import { createReservation } from '../../services/reservations/create.ts'
import { defineRoute } from '../kit/route.ts'
import {
  DownloadedModel,
  DownloadedModels,
  DownloadRequest,
  Reservation,
  ReservationRequest,
} from './schemas/reservation.ts'

export const reservationRoutes = [
  defineRoute({
    name: 'reservation',
    errorStatuses: [404, 594],
    method: 'post',
    path: '/v1/reservation',
    summary: 'Get advice on the size and pace of requests; nothing is reserved',
    access: 'key',
    scope: 'inference',
    body: ReservationRequest,
    response: Reservation,
    async handle({ caller: ctx, body }) {
      const input = { modelName: body.model_name ?? null, capacity: body.capacity ?? 0 }
      const { id, capacity, batchSize, startsAt, endsAt } = await createReservation({ ctx, input })
      return {
        reservation_id: id,
        capacity_remaining: capacity,
        dynamic_max_batch_size: batchSize,
        start_time: wireTime(startsAt),
        end_time: wireTime(endsAt),
      }
    },
  }),
  defineRoute({
    name: 'downloaded_models',
    chapter: 'Models',
    method: 'get',
    path: '/v1alpha/downloaded_models/',
    aliases: ['/v1/downloaded_models/'],
    summary: 'List the models of the catalogue; all are available',
    access: 'key',
    scope: 'read',
    response: DownloadedModels,
    handle: ({ caller: { deps } }) => deps.catalogue.entries.map(downloaded),
  }),
  defineRoute({
    name: 'find_downloaded_model',
    chapter: 'Models',
    errorStatuses: [404, 594],
    method: 'post',
    path: '/v1alpha/downloaded_models/',
    aliases: ['/v1/downloaded_models/'],
    summary: 'Get one model of the catalogue; other models cannot be downloaded',
    access: 'key',
    scope: 'read',
    body: DownloadRequest,
    response: DownloadedModel,
    handle({ caller: { deps }, body: { hf_model_name: name } }) {
      const { entries } = deps.catalogue
      const entry = deps.catalogue.find(name)
      if (!entry)
        throw new ServiceError(
          'model_not_found',
          `The model "${name}" is not in the catalogue. GET /v1/models lists the models.`,
        )
      return downloaded(entry, entries.indexOf(entry))
    },
  }),
]

const downloaded = ({ name, task }: CatalogueEntry, index: number) => ({
  model_id: index + 1,
  model_name: name,
  model_type: task === 'embedding' ? ('embedding' as const) : ('transformer' as const),
  user_id: null,
  is_public: true,
  creation_ts: null,
  prev_download_ts: null,
  prev_download_error: null,
  download_attempts: 0,
  status: 'available' as const,
})
