// The queries about batches of both APIs. The service answers 304 while nothing has changed.
import { infiniteQueryOptions, keepPreviousData, queryOptions } from '@tanstack/react-query'
import {
  isOpenBatch,
  mostErrors,
  refusedLines,
  type BatchGroup,
  type BatchKind,
  type Refused,
} from '../domain/batch.ts'
import { api, send } from './client.ts'
import { queryClient } from './query-client.ts'
import type { components } from './types.ts'

export type Batch = components['schemas']['Batch']

const key = ['batches'] as const
const every = { open: 2000, idle: 15_000 }
const pageSize = 50

const statuses = {
  all: undefined,
  open: 'open',
  done: 'COMPLETED',
  failed: 'FAILED,EXPIRED',
  cancelled: 'CANCELLED',
} as const satisfies Record<BatchGroup, string | undefined>

/** After a batch was cancelled. */
export const refreshBatches = () => queryClient.invalidateQueries({ queryKey: key })

const everyMs = (batches: readonly Batch[]) => (batches.some(isOpenBatch) ? every.open : every.idle)

/** The pages that were read so far, newest first. */
export const batchesQuery = (group: BatchGroup) => {
  const status = statuses[group]
  return infiniteQueryOptions({
    queryKey: [...key, 'list', group],
    queryFn: ({ pageParam: after, signal }) =>
      api.GET('/v1/batches', {
        params: { query: { limit: pageSize, ...(status && { status }), ...(after && { after }) } },
        signal,
      }),
    initialPageParam: undefined as string | undefined,
    getNextPageParam: ({ next }) => next ?? undefined,
    placeholderData: keepPreviousData,
    refetchInterval: ({ state: { data } }) => everyMs(data?.pages.flatMap(({ batches }) => batches) ?? []),
  })
}

export const batchQuery = (id: string) =>
  queryOptions({
    queryKey: [...key, id],
    queryFn: ({ signal }) => api.GET('/v1/batches/{id}', { params: { path: { id } }, signal }),
    refetchInterval: ({ state: { data } }) => data !== undefined && isOpenBatch(data) && every.open,
  })

const mostCharacters = 1_000_000

/** The refused items: of a file of lines its beginning, otherwise those that the result names. */
export const batchErrorsQuery = (id: string, kind: BatchKind, path: string) =>
  queryOptions({
    queryKey: [...key, id, 'errors', path],
    queryFn: async ({ signal }): Promise<Refused[]> => {
      const answer = await send(path, { signal })
      if (kind === 'requests') return refusedLines(await beginningOf(answer))
      const { errors = [] } = (await answer.json()) as { errors?: { path: string; message: string }[] }
      return errors.slice(0, mostErrors).map(({ path: place, message }) => ({ place, message }))
    },
  })

/** Whole lines of a text that may have hundreds of megabytes. */
async function beginningOf(answer: Response): Promise<string> {
  const reader = answer.body?.pipeThrough(new TextDecoderStream()).getReader()
  let text = ''
  for (;;) {
    const part = await reader?.read()
    if (!part || part.done) return text
    text += part.value
    if (text.length <= mostCharacters) continue
    await reader?.cancel()
    return text.slice(0, text.lastIndexOf('\n') + 1)
  }
}
