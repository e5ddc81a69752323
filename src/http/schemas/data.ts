import { z } from 'zod'
import { named } from '../edge/named-schemas.ts'

export const DataRequest = named(
  'DataRequest',
  z.object({
    dataset_id: z.string().describe('1 to 128 letters, digits, ".", "_" or "-", beginning with a letter or digit'),
  }),
)

export const DataAnswer = named(
  'DataAnswer',
  z.object({
    upload_base_path: z.literal('s3'),
    dataset_location: z.url().describe('PUT the file here; two hours'),
    dataset_id: z.string(),
  }),
)

export const UploadBasePath = named('UploadBasePath', z.object({ upload_base_path: z.literal('s3') }))
