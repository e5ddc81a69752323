// How batches are named, and the errors of their items.
import { count } from './format.ts'

export type BatchKind = 'completions' | 'streaming' | 'embeddings' | 'requests'

const nouns: Record<BatchKind, [one: string, many: string]> = {
  completions: ['completion', 'completions'],
  streaming: ['streamed completion', 'streamed completions'],
  embeddings: ['embedding', 'embeddings'],
  requests: ['request of a file', 'requests of a file'],
}

type Named = { kind: BatchKind; item_counts: { total: number } }

/** Such as "1,200 embeddings". */
export const batchName = ({ kind, item_counts: { total } }: Named) =>
  `${count(total)} ${nouns[kind][total === 1 ? 0 : 1]}`

export const isOpenBatch = ({ status }: { status: string }) => status === 'QUEUED' || status === 'RUNNING'

export const batchGroups = ['all', 'open', 'done', 'failed', 'cancelled'] as const
export type BatchGroup = (typeof batchGroups)[number]

/** `place` is the position of a prompt, or the custom_id of a line. */
export type Refused = { place: string; message: string }

/** More would not be read. */
export const mostErrors = 200

type ErrorLine = {
  custom_id: string | null
  error: { message: string } | null
  response: { body?: { error?: { message?: string } } } | null
}

/** The errors of the lines of an error file. */
export const refusedLines = (text: string): Refused[] =>
  text
    .split('\n')
    .filter((line) => line !== '')
    .slice(0, mostErrors)
    .map((line) => {
      const { custom_id: id, error, response } = JSON.parse(line) as ErrorLine
      return { place: id ?? '–', message: error?.message ?? response?.body?.error?.message ?? 'refused' }
    })
