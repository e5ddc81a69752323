import { invalidInput, ServiceError } from '../domain/service-error.ts'
import type { EncodedRow } from '../domain/row-tokens.ts'
import { accept, type Servers } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { EngineRefusal, requestRowPreview, type RowsToPreview } from './engine-client.ts'
import type { ModelRequest } from './request.ts'
import { workOf } from './text-bounds.ts'

export type RowPreviewRequest = ModelRequest & { asked: RowsToPreview }

/**
 * Encodes rows as the trainer does: the model's server has the trainer's own code, its tokenizer and its chat template.
 * @throws ServiceError invalid_input, quota_exceeded, unavailable; the signal's reason
 */
export async function previewRows(servers: Servers, request: RowPreviewRequest): Promise<EncodedRow[]> {
  using accepted = accept(servers, { ...request, adapter: null }, 1)
  const { asked, signal, baseModel } = accepted
  try {
    const { rows } = await callWithFailover(accepted, workOf(asked.rows, 0), signal, requestRowPreview(asked))
    return rows
  } catch (error) {
    if (!(error instanceof EngineRefusal)) throw error
    if (error.status === 400) throw invalidInput('tokens', error.message)
    if (error.status !== 404) throw error
    throw new ServiceError(
      'unavailable',
      `The server of ${baseModel.name} is of an older release, which shows no tokens.`,
      {
        retryAfterSeconds: 60,
      },
    )
  }
}
