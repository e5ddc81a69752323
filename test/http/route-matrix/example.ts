// Turns what the matrix of routes asks and gets into the examples of the OpenAPI document. `npm run examples` records them.
import assert from 'node:assert/strict'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { encodeJobCursor } from '../../../src/services/training-jobs/list.ts'
import { root } from '../../../tools/paths.mjs'
import { homeDir } from '../../support/stack.ts'
import type { Entry, Sent } from './entries.ts'
import type { Names } from './names.ts'

export type Example = {
  params?: Record<string, string>
  query?: Record<string, string>
  body?: unknown
  answer: unknown
}

const examplesPath = join(root, 'src/http/examples.json')
const uuid = (digit: string) =>
  `${digit.repeat(8)}-${digit.repeat(4)}-4${digit.repeat(3)}-8${digit.repeat(3)}-${digit.repeat(12)}`

/** What examples call the objects that they name. */
const exampleNames: Names = {
  keyId: '7c'.repeat(8),
  webhookId: uuid('1'),
  webhookSecretId: uuid('2'),
  spareWebhookId: uuid('3'),
  deliveryId: uuid('4'),
  datasetId: 'products',
  spareDatasetId: 'old-products',
  location: 'https://s3.example.com/anneal/datasets/products',
  storedId: 'opening-hours',
  jobId: 7,
  cancelledJobId: 8,
  pausedJobId: 9,
  fileId: `file-${'a1'.repeat(16)}`,
  spareFileId: `file-${'b2'.repeat(16)}`,
  spareModelName: '4be1'.repeat(16),
  cursor: encodeJobCursor(7),
  modelName: '9c0f'.repeat(16),
  customName: 'products-bot',
  evaluationId: uuid('5'),
  cancelledEvaluationId: uuid('6'),
  completionBatchId: uuid('7'),
  streamId: uuid('8'),
  embeddingBatchId: uuid('9'),
  batchFileId: `file-${'c3'.repeat(16)}`,
  requestBatchId: `batch_${'d4'.repeat(16)}`,
  responseId: `resp_${'e5'.repeat(16)}`,
  spareResponseId: `resp_${'f6'.repeat(16)}`,
  uploadId: `upload_${'a7'.repeat(16)}`,
  spareUploadId: `upload_${'b8'.repeat(16)}`,
  uploadPartId: `part_${'c9'.repeat(16)}`,
  evalId: `eval_${'d1'.repeat(16)}`,
  spareEvalId: `eval_${'e2'.repeat(16)}`,
  evalRunId: `evalrun_${'f3'.repeat(16)}`,
  cancelledEvalRunId: `evalrun_${'a4'.repeat(16)}`,
  spareEvalRunId: `evalrun_${'b5'.repeat(16)}`,
  outputItemId: `outputitem_${'f3'.repeat(16)}_0`,
  itemFileId: `file-${'d7'.repeat(16)}`,
}

/** The request of the entry as the document shows it. */
export async function shownRequest(entry: Entry): Promise<Omit<Example, 'answer'>> {
  const { params, query, body }: Sent = (await entry.about[0]?.(exampleNames)) ?? assert.fail('no right request')
  return {
    ...(params && { params: Object.fromEntries(Object.entries(params).map(([name, value]) => [name, String(value)])) }),
    ...(query !== undefined && { query: Object.fromEntries(new URLSearchParams(query)) }),
    ...(body !== undefined && { body: body instanceof FormData ? await fieldsOf(body) : withoutLink(body) }),
  }
}

/** The link of a console is another one each time. */
const withoutLink = (body: unknown): unknown =>
  JSON.parse(JSON.stringify(body).replace(/("link":")[\w-]{43}"/, '$1the-link-of-create_console_link"'))

async function fieldsOf(form: FormData) {
  const fields = [...form].map(async ([name, value]) => [name, typeof value === 'string' ? value : await value.text()])
  return Object.fromEntries((await Promise.all(fields)) as [string, string][]) as unknown
}

/** The answer with the names of the examples, without secrets and times of the recording, and not too long. */
export function shownAnswer(answer: unknown, owned: Names): unknown {
  // The document shows no bytes that are no text.
  if (typeof answer === 'string' && answer.includes('\0')) return '…'
  // The schema of a stream is that of one event.
  if (typeof answer === 'string') return JSON.parse(/^data: (.*)$/m.exec(renamed(answer, owned))?.[1] ?? 'null')
  const whole = JSON.parse(renamed(JSON.stringify(answer), owned)) as { openapi?: string; info?: unknown }
  // The document would hold itself.
  return whole.openapi === undefined ? shortened(whole) : { openapi: whole.openapi, info: whole.info }
}

function renamed(text: string, owned: Names): string {
  const names = Object.entries(owned)
    .map(([key, value]) => [value, exampleNames[key as keyof Names]] as const)
    .toSorted(([a], [b]) => String(b).length - String(a).length)
  for (const [name, shown] of names)
    text =
      typeof name === 'number'
        ? text.replaceAll(new RegExp(`("job_ids?":\\[?"?|ftjob-|/jobs/|fine-tune-)${name}(?!\\d)`, 'g'), `$1${shown}`)
        : text.replaceAll(name, String(shown))
  return text
    .replaceAll(homeDir, '/srv/anneal')
    .replaceAll(root, '/opt/anneal')
    .replaceAll(/\?X-Amz-[^"\\]*/g, '?X-Amz-Signature=0123456789abcdef')
    .replaceAll(/whsec_[\w+/=]+/g, 'whsec_…')
    .replaceAll(/ank_[0-9a-f]+_[\w-]+/g, 'ank_…')
    .replaceAll(
      /https?:\/\/127\.0\.0\.1:\d+(\/hooks)?/g,
      (_all, hooks) => `https://${hooks ? 'example.com/hooks' : 's3.example.com'}`,
    )
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{6}/g, '2026-11-20T10:00:00.123456')
    .replaceAll(/\d{4}-\d\d-\d\dT\d\d:\d\d:\d\d\.\d{3}Z/g, '2026-11-20T10:00:00.123Z')
}

const maxItems = 2
const maxText = 600

/** The beginning of lists and of long texts. A text that is JSON stays whole. */
function shortened(value: unknown): unknown {
  if (typeof value === 'string')
    return value.length > maxText && !/^[[{]/.test(value) ? `${value.slice(0, maxText)}…` : value
  if (Array.isArray(value)) return value.slice(0, maxItems).map(shortened)
  if (typeof value !== 'object' || value === null) return value
  return Object.fromEntries(Object.entries(value).map(([key, inner]) => [key, shortened(inner)]))
}

export function writeExamples(examples: Record<string, Example>): void {
  const sorted = Object.fromEntries(Object.entries(examples).toSorted(([a], [b]) => (a < b ? -1 : 1)))
  writeFileSync(examplesPath, `${JSON.stringify(sorted, null, 2)}\n`)
}
