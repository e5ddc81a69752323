import { z } from 'zod'
import { named } from '../framework/named-schemas.ts'
import { pathText } from '../framework/params.ts'

const onlyAdapter =
  'must be adapter: no other format is made. To merge, export the adapter and call merge_and_unload() of PEFT, as docs/api-guide.md shows under "Models"'

export const ExportRequest = named(
  'ModelExportRequest',
  z.object({
    format: z
      .literal('adapter', { error: onlyAdapter })
      .describe('adapter: the LoRA weights with their configuration, as PEFT loads them'),
  }),
)

export const ExportPath = z.object({
  name: pathText(384).describe('The name of the model'),
  export_id: pathText(128).describe('The id of the export'),
})

const exported = {
  id: z.string().describe('The id of the export'),
  model_name: z.string().describe('The id of the exported model; it stays when the name leads to another version'),
  format: z.literal('adapter').describe('Always adapter'),
  status: z.literal('COMPLETED').describe('An adapter is ready at once'),
}

export const ModelExport = named('ModelExport', z.object(exported))

export const ModelExportFiles = named(
  'ModelExportFiles',
  z.object({
    ...exported,
    expires_in: z.int().describe('Seconds until the links expire. Each request gets new ones'),
    files: z
      .array(
        z.object({
          name: z.string().describe('anneal.json is the manifest'),
          url: z.string().describe('A link that needs no key'),
          sha256: z.string().describe('The SHA-256 of the file in hex'),
          size_bytes: z.int().describe('Size of the file'),
        }),
      )
      .describe('The files of the export'),
  }),
)
