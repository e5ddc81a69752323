import { z } from 'zod'
import { filePurposes } from '../../../domain/file-purpose.ts'
import { adapterFileNames } from '../../../domain/job-record.ts'
import { named } from '../../kit/named-schemas.ts'

const maxInt = 2 ** 31 - 1
const Hash = z.string().regex(/^[0-9a-f]{64}$/, { error: 'must be 64 hex digits' })
const Size = z.int().min(0)
const JobId = z.int().min(1).max(maxInt)

export const JobRecord = named(
  'JobRecord',
  z.unknown().describe('JSON Lines: the job, then its attempts, steps, events and the answers of its evaluation'),
)

export const VersionPath = z.object({
  dataset_id: z.string().min(1).max(256).describe('The id of a data set'),
  version: z
    .string()
    .regex(/^[1-9]\d{0,8}$/, { error: 'must be the number of a version' })
    .describe('The number of a version'),
})

const versionFields = {
  dataset_id: z.string().min(1).max(256).describe('The id of the data set'),
  version: z.int().min(1).max(1_000_000).describe('The number of the version'),
  created_at: z.iso.datetime().describe('When it was uploaded'),
  file_name: z.string().min(1).max(512).nullable().describe('Of a file of /openai/v1/files; null for other data sets'),
  purpose: z.enum(filePurposes).nullable().describe('Of a file; null for training data'),
  expires_at: z.iso.datetime().nullable().describe('When it is removed; null: never'),
  is_public: z.boolean().describe('As its upload said'),
  columns: z
    .strictObject({
      input: z.string().max(256).nullable().describe('The column of the inputs; null: the rows are texts'),
      output: z.string().max(256).describe('The column of the outputs'),
    })
    .nullable()
    .describe('The columns that are read; null where the names of the fields say what they hold'),
  size: Size.describe('Bytes of the rows'),
}

export const DatasetVersionFile = named(
  'DatasetVersionFile',
  z.object({
    ...versionFields,
    size: Size.nullable().describe('Bytes of the rows; null when nothing was uploaded or the rows have expired'),
    url: z
      .url()
      .nullable()
      .describe('A short-lived link to the rows; null when nothing was uploaded or the rows have expired'),
    expires_in: z.int().describe('Seconds that the link works'),
  }),
)

export const DatasetImport = named(
  'DatasetImport',
  z.strictObject({ ...versionFields, sha256: Hash.describe('SHA-256 of the rows') }),
)

const State = z
  .enum(['done', 'there', 'needs_files'])
  .describe(
    'done: imported now; there: imported before; needs_files: upload what is missing with POST /v1/data, as the data set import-<sha256>, and ask again',
  )

export const DatasetImported = named('DatasetImported', z.object({ state: State }))

export const JobImport = named(
  'JobImport',
  z.strictObject({
    installation: z.uuid().describe('The installation in which the job ran, as its record says'),
    job_id: JobId.describe('The id of the job there'),
    base_model: z.string().min(1).max(256).describe('The base model of the job'),
    record: z
      .strictObject({
        size: Size.max(2 ** 28).describe('Bytes of the record'),
        sha256: Hash.describe('SHA-256 of the record'),
      })
      .describe('What GET /v1/train/jobs/{job_id}/record answered there: its bytes and their SHA-256'),
    files: z
      .array(
        z.strictObject({
          name: z.enum(adapterFileNames).describe('The name of the file'),
          size: Size.describe('Bytes of the file'),
          sha256: Hash.describe('SHA-256 of the file'),
        }),
      )
      .max(adapterFileNames.length)
      .describe('The adapter of the job; empty for a job without a model'),
  }),
)

export const JobImported = named(
  'JobImported',
  z.object({
    state: State,
    needs: z.array(z.string()).describe('Names of the files that are not uploaded'),
    job_id: z.int().nullable().describe('The id of the job here; null before it is imported'),
    model_name: z.string().nullable().describe('The name of its model here; null without one'),
  }),
)
