// A job as server-sent events.
import { wireTime } from '../../domain/timestamps.ts'
import { endText } from '../../domain/job-cursor.ts'
import { assertNever } from '../../domain/assert-never.ts'
import { followTrainingJob } from '../../services/job-stream/follow.ts'
import type { Batch } from '../../services/job-stream/job-feed.ts'
import type { StreamMessage } from '../../services/job-stream/messages.ts'
import { EventText } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { JobStream, StreamQuery } from './schemas/job-stream.ts'
import { JobPath } from '../lamini/schemas/training-job.ts'
import { metricOnWire, progressOnWire } from '../lamini/training-job-summary.ts'

/** A client that lost its connection continues after this time. */
const opening = 'retry: 1000\n\n'
const heartbeat = ': still here\n\n'

export const jobStreamRoutes = [
  defineRoute({
    name: 'follow_training_job',
    method: 'get',
    path: '/v1/train/jobs/:job_id/stream',
    summary:
      'Follow a training job by server-sent events, from its acceptance or from after the one named in Last-Event-ID',
    access: 'key',
    scope: 'read',
    params: JobPath,
    query: StreamQuery,
    response: JobStream,
    contentType: 'text/event-stream',
    async handle({ caller: ctx, params: { job_id: jobId }, query, headers, signal }) {
      const given = headers['last-event-id']
      const lastEventId = Array.isArray(given) ? given[0] : given
      const input = { jobId, lastEventId, isFromNow: query.from === 'now' }
      return new EventText(textOf(await followTrainingJob({ ctx, input, signal })))
    },
  }),
]

async function* textOf(batches: AsyncIterable<Batch | null>): AsyncGenerator<string | Buffer> {
  let isOpen = false
  for await (const batch of batches) {
    yield batch ? encoded(batch) : isOpen ? heartbeat : opening
    isOpen = true
  }
}

/** All followers that are level share a batch, and its bytes. */
const bytesOf = new WeakMap<Batch, Buffer>()

function encoded(batch: Batch): Buffer {
  const known = bytesOf.get(batch)
  if (known) return known
  const { messages, after, end } = batch
  const texts = messages.map(({ id, message }) => eventText(id, message.event, wireOf(message)))
  if (end) {
    const { status, statusReason, statusMessage, modelName } = end
    const state = { status, status_reason: statusReason, status_message: statusMessage, model_name: modelName }
    texts.push(eventText(endText(after), 'end', state))
  }
  const bytes = Buffer.from(texts.join(''))
  bytesOf.set(batch, bytes)
  return bytes
}

const eventText = (id: string, event: string, data: object | null) =>
  `id: ${id}\nevent: ${event}\ndata: ${JSON.stringify(data)}\n\n`

function wireOf(message: StreamMessage): object | null {
  switch (message.event) {
    case 'status': {
      const { eventId, status, reason, message: sentence, attempt, at } = message.data
      const id = eventId === null ? null : String(eventId)
      const state = { event_id: id, status, status_reason: reason, status_message: sentence }
      return { ...state, attempt, at: at && wireTime(at) }
    }
    case 'event':
      return { ...message.data, id: String(message.data.id), at: wireTime(new Date(message.data.at)) }
    case 'metric':
      return { ...metricOnWire(message.data.row), attempt: message.data.attempt }
    case 'progress':
      return progressOnWire(message.data)
    case 'log':
      return message.data
    default:
      return assertNever(message)
  }
}
