// Checks of an adapter that comes from outside, before anything names it: safetensors with plain LoRA factors, and a
// configuration that sets nothing else. The model server checks the shapes against its base when it loads the adapter.
import { z } from 'zod'
import { invalidInput } from './service-error.ts'

export const mostConfigBytes = 1024 * 1024
/** Some thousand layers. It is read on the event loop. */
const mostHeaderBytes = 1024 * 1024
const prefix = 'base_model.model.'
const floats = ['F16', 'BF16', 'F32', 'F64']

/** Settings of plain LoRA. Every other one must be off: some of PEFT's import modules by name. */
const Plain = z.object({
  peft_type: z.literal('LORA'),
  task_type: z.literal('CAUSAL_LM'),
  r: z.int().min(1),
  lora_alpha: z.number().positive(),
  lora_dropout: z.number().min(0).lt(1).optional(),
  use_rslora: z.boolean().nullish(),
  target_modules: z.union([z.string().max(200), z.array(z.string().max(200)).max(1000)]),
  bias: z.literal('none').optional(),
  init_lora_weights: z.boolean().optional(),
  inference_mode: z.boolean().optional(),
  base_model_name_or_path: z.string().max(1000).nullish(),
  peft_version: z.string().max(100).optional(),
  megatron_core: z.literal('megatron.core').optional(),
  qalora_group_size: z.int().optional(),
})

/** Null for anything but a matrix of floats. By hand: a header has thousands. */
function shapeOf(tensor: unknown): [number, number] | null {
  const { dtype, shape } = Object(tensor) as { dtype?: unknown; shape?: unknown }
  if (!Array.isArray(shape) || shape.length !== 2 || !floats.includes(String(dtype))) return null
  const [rows, columns] = shape as unknown[]
  return isCount(rows) && isCount(columns) ? [rows, columns] : null
}

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) > 0

const refused = (message: string) => invalidInput('files', message)

/** @returns the rank @throws ServiceError invalid_input */
export function checkAdapterConfig(text: string, maxRank: number): number {
  const file = 'adapter_config.json'
  const config = parsed(text, file)
  const plain = Plain.safeParse(config)
  if (!plain.success) {
    const [issue] = plain.error.issues
    throw refused(`${file} is not that of a plain LoRA adapter: ${issue?.path.join('.')}: ${issue?.message}`)
  }
  for (const [name, value] of Object.entries(config))
    if (!Object.hasOwn(Plain.shape, name) && !isOff(value))
      throw refused(`${file} sets ${name.slice(0, 100)}, which no server here has.`)
  if (plain.data.r > maxRank) throw refused(`${file} has r ${plain.data.r}; the base model takes ${maxRank} at most.`)
  return plain.data.r
}

const isOff = (value: unknown) =>
  value === null || value === false || (typeof value === 'object' && Object.keys(value).length === 0)

/** Bytes of the header, from the first eight bytes of a file. @throws ServiceError invalid_input */
export function headerBytesOf(start: Buffer, sizeBytes: number): number {
  const length = start.length >= 8 ? Number(start.readBigUInt64LE(0)) : 0
  if (length < 2 || length > Math.min(mostHeaderBytes, sizeBytes - 8))
    throw refused('adapter_model.safetensors is no safetensors file.')
  return length
}

/** @throws ServiceError invalid_input */
export function checkAdapterHeader(text: string, rank: number): void {
  const file = 'adapter_model.safetensors'
  const { __metadata__: _metadata, ...tensors } = parsed(text, file)
  const factors = new Map<string, number>()
  for (const [key, value] of Object.entries(tensors)) {
    const [, layer, factor] = /^(.+)\.(lora_[AB])(?:\.weight)?$/.exec(key) ?? []
    const shape = shapeOf(value)
    if (!key.startsWith(prefix) || layer === undefined || !shape)
      throw refused(`${file} holds ${key.slice(0, 200)}, which is not a LoRA factor.`)
    const [rows, columns] = shape
    if ((factor === 'lora_A' ? rows : columns) !== rank)
      throw refused(
        `${file}: ${key.slice(0, 200)} has the shape ${rows} × ${columns}, which does not fit rank ${rank}.`,
      )
    factors.set(layer, (factors.get(layer) ?? 0) + 1)
  }
  if (factors.size === 0 || [...factors.values()].some((found) => found !== 2))
    throw refused(`${file} has no layer, or one with only one of its two factors.`)
}

function parsed(text: string, file: string): Record<string, unknown> {
  try {
    const value: unknown = JSON.parse(text)
    if (typeof value === 'object' && value !== null && !Array.isArray(value)) return value as Record<string, unknown>
  } catch {
    // Said below.
  }
  throw refused(`${file} holds no JSON object.`)
}
