import { z } from 'zod'
import { exportStatuses } from '../../../domain/model-export.ts'
import { named } from '../../kit/named-schemas.ts'
import { pathText } from '../../kit/params.ts'

const format = z
  .enum(['adapter', 'merged'], { error: 'must be adapter or merged' })
  .describe(
    'adapter: the LoRA weights with their configuration, as PEFT loads them. merged: a whole model that plain transformers loads, made in the background',
  )

export const ExportRequest = named('ModelExportRequest', z.object({ format }))

export const ExportPath = z.object({
  name: pathText(384).describe('The name of the model'),
  export_id: pathText(128).describe('The id of the export'),
})

const exported = {
  id: z.string().describe('The id of the export'),
  model_name: z.string().describe('The id of the exported model; it stays when the name leads to another version'),
  format,
  status: z.enum(exportStatuses).describe('An adapter is COMPLETED at once. A failed export can be requested again'),
}

export const ModelExport = named('ModelExport', z.object(exported))

export const ModelExportFiles = named(
  'ModelExportFiles',
  z.object({
    ...exported,
    status_reason: z
      .string()
      .nullable()
      .describe('Why a QUEUED export waits: waiting_for_turn, or maintenance; null otherwise'),
    message: z.string().nullable().describe('Why the export waits, or why it failed and what to do; null otherwise'),
    expires_in: z.int().describe('Seconds until the links expire. Each request gets new ones'),
    files: z
      .array(
        z.object({
          name: z.string().describe('The name under which a program expects the file'),
          url: z.string().describe('A link that needs no key'),
          sha256: z.string().describe('The SHA-256 of the file in hex'),
          size_bytes: z.int().describe('Size of the file'),
        }),
      )
      .describe('The files of the export; empty until it is COMPLETED'),
  }),
)
