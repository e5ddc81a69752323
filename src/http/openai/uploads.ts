// Files above the limit of one request, in parts.
import { z } from 'zod'
import { uploadPurposes } from '../../domain/file-purpose.ts'
import { expiryOf, uploadLimits, type FileUpload } from '../../domain/file-upload.ts'
import { addPart } from '../../services/uploads/add-part.ts'
import { cancelUpload } from '../../services/uploads/cancel.ts'
import { completeUpload } from '../../services/uploads/complete.ts'
import { createUpload } from '../../services/uploads/create.ts'
import { noUpload } from '../../services/uploads/find.ts'
import { named } from '../kit/named-schemas.ts'
import { defineRoute } from '../kit/route.ts'
import { File, fileOf, leastLife, longestLife } from './files.ts'
import { seconds } from './generation.ts'
import { idOf, requireUuid, uuidIn } from './ids.ts'

const path = '/openai/v1/uploads'
/** A part with the rest of its form. */
const formBytes = uploadLimits.partBytes + 1024 * 1024

const UploadRequest = named(
  'OpenAiUploadRequest',
  z.strictObject({
    bytes: z.int().min(1).max(uploadLimits.fileBytes).describe('The size of the file'),
    filename: z.string().min(1).max(255).describe('The name of the file'),
    mime_type: z.string().min(1).max(255).describe('Accepted and ignored: files are JSON Lines'),
    purpose: z
      .literal(uploadPurposes, { error: `must be ${uploadPurposes.join(', ')}: no other purpose is supported` })
      .describe('What the file is for: rows to train on, requests of a batch, or items of evals'),
    expires_after: z
      .strictObject({
        anchor: z.literal('created_at').describe('Always created_at'),
        seconds: z.int().min(leastLife).max(longestLife).describe('The file goes this long after its creation'),
      })
      .nullish()
      .describe('When the file goes; it is kept when absent'),
  }),
)

const PartRequest = named(
  'OpenAiUploadPartRequest',
  z.strictObject({
    data: z
      .string()
      .max(255)
      .meta({ format: 'binary', maxLength: undefined })
      .describe('A piece of the file, at most 64 MiB'),
  }),
)

const CompleteRequest = named(
  'OpenAiUploadCompleteRequest',
  z.strictObject({
    part_ids: z
      .array(z.string().max(64))
      .min(1)
      .max(uploadLimits.parts)
      .describe('The parts in the order of the file. Others are dropped'),
    md5: z
      .string()
      .regex(/^[0-9a-fA-F]{32}$/, { error: 'must be 32 hex digits' })
      .nullish()
      .describe('The MD5 sum of the file. The upload stays open when it does not match'),
  }),
)

const Upload = named(
  'OpenAiUpload',
  z.object({
    id: z.string().describe('The id of the upload'),
    object: z.literal('upload').describe('Always upload'),
    bytes: z.int().describe('The size of the file, as it was announced'),
    created_at: z.int().describe('Time of creation, in seconds since 1970'),
    expires_at: z.int().describe('When the upload goes, unless it is completed: an hour after its creation'),
    filename: z.string().describe('The name of the file'),
    purpose: z.enum(uploadPurposes).describe('What the file is for'),
    status: z.enum(['pending', 'completed', 'cancelled', 'expired']).describe('The state'),
    file: File.nullable().describe('The file of a completed upload'),
  }),
)

const UploadPart = named(
  'OpenAiUploadPart',
  z.object({
    id: z.string().describe('The id of the part, for part_ids'),
    object: z.literal('upload.part').describe('Always upload.part'),
    created_at: z.int().describe('Time of arrival, in seconds since 1970'),
    upload_id: z.string().describe('The upload that it belongs to'),
  }),
)

const ofOneUpload = {
  method: 'post',
  access: 'key',
  scope: 'data',
  params: z.object({ upload_id: z.string().max(64).describe('The id of the upload') }),
  errorStatuses: [409],
} as const

export const uploadRoutes = [
  defineRoute({
    name: 'openai_create_upload',
    method: 'post',
    path,
    summary: 'Open an upload for a file that arrives in parts',
    access: 'key',
    scope: 'data',
    body: UploadRequest,
    idempotent: true,
    response: Upload,
    async handle({ caller: ctx, body, idempotency }) {
      const { filename: fileName, purpose, bytes: sizeBytes, expires_after: expiry } = body
      const input = { fileName, purpose, sizeBytes, lifeSeconds: expiry?.seconds ?? null }
      return uploadOf(await createUpload({ ctx, input, idempotency }))
    },
  }),
  defineRoute({
    ...ofOneUpload,
    name: 'openai_add_upload_part',
    path: `${path}/:upload_id/parts`,
    summary: 'Send a part of the file; parts may arrive in any order',
    body: PartRequest,
    form: { limitBytes: formBytes },
    response: UploadPart,
    async handle({ caller: ctx, params: { upload_id: id }, file }) {
      const part = await addPart({ ctx, input: { uploadId: uploadIdIn(id), part: file } })
      return {
        id: idOf('part', part.id),
        object: 'upload.part' as const,
        created_at: seconds(part.createdAt),
        upload_id: id,
      }
    },
  }),
  defineRoute({
    ...ofOneUpload,
    name: 'openai_complete_upload',
    path: `${path}/:upload_id/complete`,
    summary: 'Join the parts in the given order to a file',
    body: CompleteRequest,
    response: Upload,
    async handle({ caller: ctx, params, body: { part_ids: partIds, md5 }, signal }) {
      // Text that is no id leads to no part.
      const input = { partIds: partIds.map((id) => uuidIn('part', id) ?? id), md5: md5 ?? null }
      const asked = { ctx, input: { id: uploadIdIn(params.upload_id), ...input }, signal }
      const { upload, file } = await completeUpload(asked)
      return { ...uploadOf(upload), file: file && fileOf(file) }
    },
  }),
  defineRoute({
    ...ofOneUpload,
    name: 'openai_cancel_upload',
    path: `${path}/:upload_id/cancel`,
    summary: 'Cancel an upload and drop its parts',
    response: Upload,
    handle: async ({ caller: ctx, params }) =>
      uploadOf(await cancelUpload({ ctx, input: { id: uploadIdIn(params.upload_id) } })),
  }),
]

const uploadOf = (upload: FileUpload): z.output<typeof Upload> => ({
  id: idOf('upload', upload.id),
  object: 'upload',
  bytes: upload.sizeBytes,
  created_at: seconds(upload.createdAt),
  expires_at: seconds(expiryOf(upload)),
  filename: upload.fileName,
  purpose: upload.purpose,
  status: upload.status,
  file: null,
})

/** @throws ServiceError not_found */
const uploadIdIn = (id: string) => requireUuid('upload', id, noUpload)
