import { z } from 'zod'
import { filePurposes, uploadPurposes } from '../../domain/file-purpose.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { deleteDataset } from '../../services/datasets/delete.ts'
import { findFile, type StoredFile } from '../../services/files/find-file.ts'
import { listFiles } from '../../services/files/list-files.ts'
import { findResultFile, jobOfResultFile, readResultFile, type ResultFile } from '../../services/files/result-file.ts'
import { readFile } from '../../services/files/read-file.ts'
import { storeFile } from '../../services/files/store-file.ts'
import { named } from '../kit/named-schemas.ts'
import { queryInt, queryText } from '../kit/params.ts'
import { FileBytes } from '../kit/respond.ts'
import { defineRoute } from '../kit/route.ts'
import { translateErrors } from './errors.ts'
import { seconds } from './generation.ts'

const purposeOnly = 'must be fine-tune, batch or evals: no other purpose is supported'

export const [leastLife, longestLife] = [3600, 2_592_000]
const lifeSeconds = z
  .string()
  .regex(/^\d{1,9}$/, { error: `must be a whole number from ${leastLife} to ${longestLife}` })
  .transform(Number)
  .refine((value) => value >= leastLife && value <= longestLife, {
    error: `must be a whole number from ${leastLife} to ${longestLife}`,
  })
  .meta({ type: 'string' })

const FileRequest = named(
  'OpenAiFileRequest',
  z.strictObject({
    file: z
      .string()
      .min(1)
      .max(255)
      .meta({ format: 'binary', minLength: undefined, maxLength: undefined })
      .describe('The file: JSON Lines, at most 1 GiB'),
    purpose: z
      .literal(uploadPurposes, {
        error: ({ input }) => (input === undefined ? undefined : purposeOnly),
      })
      .describe('What the file is for: rows to train on, requests of a batch, or items of evals'),
    'expires_after[anchor]': z
      .literal('created_at')
      .nullish()
      .describe('The time that expires_after[seconds] counts from. Needed with it'),
    'expires_after[seconds]': lifeSeconds.nullish().describe('The file goes this long after its creation'),
  }),
)

export const File = named(
  'OpenAiFile',
  z.object({
    id: z.string().describe('Also the dataset_id of the same data in /v1'),
    object: z.literal('file').describe('Always file'),
    bytes: z.int().describe('Size of the file'),
    created_at: z.int().describe('Time of the upload, in seconds since 1970'),
    expires_at: z.int().optional().describe('When the file is deleted, in seconds since 1970; absent when it is kept'),
    filename: z.string().describe('The name that the upload had'),
    purpose: z
      .enum([...filePurposes, 'fine-tune-results'])
      .describe('What the file is for. fine-tune-results: the steps of an ended fine-tuning job as CSV'),
    status: z
      .literal('processed')
      .describe('Always processed: the job or batch that uses the file validates its lines'),
  }),
)
type File = z.output<typeof File>

const idOrNull = z.string().nullable()

const FileList = named(
  'OpenAiFileList',
  z.object({
    object: z.literal('list').describe('Always list'),
    data: z.array(File).describe('The files of the page'),
    first_id: idOrNull.describe('The id of the first item; null on an empty page'),
    last_id: idOrNull.describe('The id of the last item, the `after` of the next page; null on an empty page'),
    has_more: z.boolean().describe('Whether more follow'),
  }),
)

const FileDeleted = named(
  'OpenAiFileDeleted',
  z.object({
    id: z.string().describe('The id of the deleted file'),
    object: z.literal('file').describe('Always file'),
    deleted: z.boolean().describe('Always true'),
  }),
)

/** The content of the file. Its media type is application/octet-stream. */
const FileContent = named('OpenAiFileContent', z.unknown().describe('The bytes as they were uploaded or written'))

const FilePath = z.object({ file_id: z.string().max(64).describe('The id of the file') })

const FileListQuery = z.strictObject({
  after: queryText().optional().describe('The id of the last file of the previous page'),
  limit: queryInt({ min: 1, max: 10_000 }).optional().describe('Default 10000'),
  order: queryText()
    .pipe(z.enum(['asc', 'desc']))
    .optional()
    .describe('By creation time; default desc'),
  purpose: queryText().max(64).optional().describe('Only files with this purpose'),
})

const maxFiles = 10_000
const mebibyte = 1024 * 1024

export const fileRoutes = [
  defineRoute({
    name: 'openai_create_file',
    method: 'post',
    path: '/openai/v1/files',
    summary: 'Upload a file of rows to train on, of requests for a batch, or of items for evals, as JSON Lines',
    access: 'key',
    scope: 'data',
    body: FileRequest,
    form: { limitBytes: 1024 * mebibyte },
    idempotent: true,
    response: File,
    handle: async ({ caller: ctx, body, file, idempotency }) =>
      fileOf(await storeFile({ ctx, input: { file, ...keptAs(body) }, idempotency })),
  }),
  defineRoute({
    name: 'openai_list_files',
    method: 'get',
    path: '/openai/v1/files',
    summary: 'List the files of the account',
    access: 'key',
    scope: 'read',
    query: FileListQuery,
    errorStatuses: [404],
    response: FileList,
    async handle({ caller: ctx, query: { after, limit = maxFiles, order, purpose } }) {
      const known = filePurposes.find((each) => each === purpose)
      const input = { after, limit, isOldestFirst: order === 'asc', purpose: known ?? null }
      const isOther = purpose !== undefined && known === undefined
      const { files, hasMore } = isOther ? { files: [], hasMore: false } : await listFiles({ ctx, input })
      return pageOf(files.map(fileOf), hasMore)
    },
  }),
  defineRoute({
    name: 'openai_get_file',
    method: 'get',
    path: '/openai/v1/files/:file_id',
    summary: 'Get one file',
    access: 'key',
    scope: 'read',
    params: FilePath,
    response: File,
    async handle({ caller: ctx, params: { file_id: fileId } }) {
      const jobId = jobOfResultFile(fileId)
      if (jobId !== null) return resultFileOf(await findResultFile({ ctx, input: { jobId } }))
      return fileOf(await findFile({ ctx, input: { fileId } }))
    },
  }),
  defineRoute({
    name: 'openai_get_file_content',
    method: 'get',
    path: '/openai/v1/files/:file_id/content',
    summary: 'Download a file',
    access: 'key',
    scope: 'read',
    params: FilePath,
    response: FileContent,
    alsoAnswers: 'application/octet-stream',
    async handle({ caller: ctx, params: { file_id: fileId } }) {
      const jobId = jobOfResultFile(fileId)
      if (jobId !== null) return new FileBytes(await readResultFile({ ctx, input: { jobId } }), null)
      const { bytes, sizeBytes } = await readFile({ ctx, input: { fileId } })
      return new FileBytes(bytes, sizeBytes)
    },
  }),
  defineRoute({
    name: 'openai_delete_file',
    method: 'delete',
    path: '/openai/v1/files/:file_id',
    summary: 'Delete a file; jobs keep their copies of the rows',
    access: 'key',
    scope: 'data',
    params: FilePath,
    errorStatuses: [409],
    response: FileDeleted,
    async handle({ caller: ctx, params: { file_id: fileId } }) {
      const jobId = jobOfResultFile(fileId)
      if (jobId !== null) throw kept(await findResultFile({ ctx, input: { jobId } }))
      const { datasetId } = await findFile({ ctx, input: { fileId } })
      await translateErrors({ dataset_id: 'file_id' }, () => deleteDataset({ ctx, input: { datasetId } }))
      return { id: datasetId, object: 'file' as const, deleted: true }
    },
  }),
]

function keptAs(body: z.output<typeof FileRequest>) {
  const [anchor, lifeSeconds] = [body['expires_after[anchor]'] ?? null, body['expires_after[seconds]'] ?? undefined]
  if ((anchor === null) !== (lifeSeconds === undefined))
    throw invalidInput('expires_after', 'expires_after needs both anchor and seconds.')
  return { fileName: body.file, purpose: body.purpose, lifeSeconds }
}

export const fileOf = ({ datasetId, ...file }: StoredFile) => describeFile({ ...file, id: datasetId })

const resultFileOf = (file: ResultFile) =>
  describeFile({ ...file, expiresAt: null, purpose: 'fine-tune-results' as const })

type Described = Pick<StoredFile, 'sizeBytes' | 'createdAt' | 'expiresAt' | 'fileName'> & Pick<File, 'id' | 'purpose'>

const describeFile = ({ id, sizeBytes, createdAt, expiresAt, fileName, purpose }: Described): File => ({
  id,
  object: 'file' as const,
  bytes: sizeBytes,
  created_at: seconds(createdAt),
  ...(expiresAt && { expires_at: seconds(expiresAt) }),
  filename: fileName,
  purpose,
  status: 'processed' as const,
})

const kept = ({ jobId }: ResultFile) =>
  new ServiceError('conflict', `The result file of job ${jobId} cannot be deleted: it is written from the job's steps.`)

/** A page in OpenAI's format. last_id is the cursor of the next page. */
export function pageOf<T extends { id: string }>(data: T[], hasMore: boolean) {
  const ends = { first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null }
  return { object: 'list' as const, data, ...ends, has_more: hasMore }
}
