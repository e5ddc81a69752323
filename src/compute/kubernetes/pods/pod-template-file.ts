import { z } from 'zod'
import { graderImages, type ImageTag } from '../../../domain/python-grader.ts'
import type { RunProgram } from '../../run.ts'
import type { JsonObject } from './merge-template.ts'

const PartialTemplate = z
  .strictObject({
    metadata: z
      .strictObject({
        labels: z.record(z.string(), z.string()).optional(),
        annotations: z.record(z.string(), z.string()).optional(),
      })
      .optional(),
    spec: z.record(z.string(), z.unknown()).optional(),
  })
  .transform((template) => template as JsonObject)

const tags = Object.keys(graderImages) as ImageTag[]

const Templates = z.strictObject({ trainer: PartialTemplate.optional(), 'model-server': PartialTemplate.optional() })

const PodTemplateFile = z.strictObject({
  trainer: PartialTemplate,
  'model-server': PartialTemplate,
  'python-grader': PartialTemplate.optional(),
  /** The image of graders by image_tag. */
  'python-grader-images': z.partialRecord(z.enum(tags), z.string().min(1)).default({}),
  models: z.record(z.string(), Templates).default({}),
})

/** The platform team's settings for the pods of each program, and for those of certain models. */
export type PodTemplates = z.infer<typeof PodTemplateFile>

/** @throws Error naming each wrong field */
export function parsePodTemplates(json: unknown): PodTemplates {
  const parsed = PodTemplateFile.safeParse(json)
  if (!parsed.success)
    throw new Error(`The pod templates (ANNEAL_POD_TEMPLATES) are not valid:\n${z.prettifyError(parsed.error)}`)
  return parsed.data
}

/** The layers for one pod, the stronger ones last. */
export function layersFor(templates: PodTemplates, program: RunProgram, model: string | undefined): JsonObject[] {
  const special = model === undefined ? undefined : templates.models[model]?.[program]
  return [templates[program], ...(special ? [special] : [])]
}
