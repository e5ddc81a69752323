// Files, uploads in parts, and batches of the requests in a file.
import type { Answer } from '../accounts.ts'
import type { Asker, Extreme } from './extreme.ts'
import { settled } from './settle.ts'
import { list, megabyte, metadata, ordinaryBody, words } from './texts.ts'

const row = (at: number) => ({ input: words(60, at), output: words(20, at) })

export function formOf(fields: Record<string, string>, file: { field: string; name: string; bytes: Buffer }): FormData {
  const form = new FormData()
  for (const [name, value] of Object.entries(fields)) form.set(name, value)
  form.set(file.field, new Blob([new Uint8Array(file.bytes)]), file.name)
  return form
}

const lines = (count: number, line: (at: number) => object) =>
  Buffer.from(list(count, (at) => `${JSON.stringify(line(at))}\n`).join(''))
const request = (baseModel: string) => (at: number) => ({
  custom_id: `line-${at}`.padEnd(500, 'x'),
  method: 'POST',
  url: '/v1/completions',
  body: { model: baseModel, prompt: words(20, at), max_tokens: 1 },
})

const idIn = (answer: Answer) => (answer.body as { id?: string } | null)?.id

export const files: Record<string, Extreme[]> = {
  openai_create_file: [
    {
      what: 'a file of 60 MB of small rows',
      sent: () => ({
        body: formOf({ purpose: 'fine-tune' }, { field: 'file', name: 'f'.repeat(255), bytes: lines(500_000, row) }),
      }),
    },
    {
      what: 'a file of one line of 60 MB',
      sent: () => ({
        body: formOf({ purpose: 'batch' }, { field: 'file', name: 'a.jsonl', bytes: Buffer.alloc(60 * megabyte, 97) }),
      }),
    },
  ],
  openai_list_files: [{ what: '10,000 files', sent: () => ({ query: 'limit=10000&order=asc' }) }],
  openai_get_file: [
    { what: 'a result file of 100,000 steps', sent: ({ resultFile: id }) => ({ params: { file_id: id } }) },
  ],
  openai_get_file_content: [
    { what: 'a result file of 100,000 steps', sent: ({ resultFile: id }) => ({ params: { file_id: id } }) },
    { what: '60 MB', sent: ({ largeFile: id }) => ({ params: { file_id: id } }) },
  ],
  openai_create_upload: [
    {
      what: 'a megabyte of an unknown field',
      sent: () => ({
        body: {
          filename: 'f'.repeat(255),
          purpose: 'fine-tune',
          mime_type: 'm'.repeat(255),
          bytes: 1,
          other: words(ordinaryBody),
        },
      }),
    },
  ],
  openai_add_upload_part: [
    {
      what: 'a part of 60 MB',
      sent: ({ upload: id }) => ({
        params: { upload_id: id },
        body: formOf({}, { field: 'data', name: 'part', bytes: Buffer.alloc(60 * megabyte, 97) }),
      }),
    },
  ],
  openai_complete_upload: [
    {
      what: '10,000 parts',
      sent: ({ upload: id }) => ({
        params: { upload_id: id },
        body: { part_ids: list(10_000, (at) => `part_${at}`.padEnd(64, '0')) },
      }),
    },
  ],
  openai_create_batch: [
    {
      what: 'a file of 10,000 lines',
      async sent(_, asker) {
        return { body: { ...batchOf(await fileOf(asker, 'batch', lines(10_000, request(asker.baseModel)))), metadata } }
      },
      async settle(answer, asker) {
        await settled(asker, `/openai/v1/batches/${idIn(answer)}`, isEnded)
      },
    },
    {
      what: 'lines of a megabyte that are refused',
      async sent(_, asker) {
        const line = (at: number) => ({
          ...request(asker.baseModel)(at),
          body: { model: asker.baseModel, prompt: words(megabyte) },
        })
        return { body: batchOf(await fileOf(asker, 'batch', lines(60, line))) }
      },
      async settle(answer, asker) {
        await settled(asker, `/openai/v1/batches/${idIn(answer)}`, isEnded)
      },
    },
    {
      what: 'lines of 100,000 values that are refused',
      async sent(_, asker) {
        const line = (at: number) => ({
          ...request(asker.baseModel)(at),
          body: { model: asker.baseModel, prompt: 'a', other: list(100_000, () => 1) },
        })
        return { body: batchOf(await fileOf(asker, 'batch', lines(128, line))) }
      },
      async settle(answer, asker) {
        await settled(asker, `/openai/v1/batches/${idIn(answer)}`, isEnded)
      },
    },
  ],
  openai_list_batches: [{ what: '100 batches with the longest labels', sent: () => ({ query: 'limit=100' }) }],
}

const batchOf = (fileId: string) => ({ input_file_id: fileId, endpoint: '/v1/completions', completion_window: '24h' })
const isEnded = ({ body }: Answer) =>
  ['completed', 'failed', 'expired', 'cancelled'].includes((body as { status: string }).status)

async function fileOf({ send }: Asker, purpose: string, bytes: Buffer): Promise<string> {
  const { body } = await send('POST', '/openai/v1/files', {
    body: formOf({ purpose }, { field: 'file', name: 'a.jsonl', bytes }),
  })
  return (body as { id: string }).id
}
