// How requests name a tuned model: by its id of 64 hex digits, by the name that its job gave (the newest COMPLETED version),
// or by name@3 or name@production.

type ModelTag = { version: number } | { alias: string }

type ModelReference = { name: string; tag: ModelTag | null }

const modelId = /^[0-9a-f]{64}$/
const reserved = /^ftjob-\d+:/
const checkpoint = /^ftjob-([1-9]\d{0,8}):ckpt-step-([1-9]\d{0,8})$/

export const isModelId = (text: string) => modelId.test(text)

/** Whether a custom name reaches its models. The function `is_model_name` of the database has the same rule. */
export const canBeAsked = (customName: string) =>
  customName !== '' && !customName.includes('@') && !isModelId(customName) && !reserved.test(customName)

export const checkpointName = (jobId: number, step: number) => `ftjob-${jobId}:ckpt-step-${step}`

/** @returns null when the text names no checkpoint */
export function parseCheckpointName(text: string): { jobId: number; step: number } | null {
  const [, jobId, step] = checkpoint.exec(text) ?? []
  return jobId === undefined || step === undefined ? null : { jobId: Number(jobId), step: Number(step) }
}

/** A letter first, so that no alias reads like a version. */
export const aliasPattern = /^[A-Za-z][A-Za-z0-9._-]{0,63}$/

/** Any text is a reference; most lead to no model. */
export function parseModelReference(text: string): ModelReference {
  const [, name, tag] = /^(.+)@([^@]+)$/s.exec(text) ?? []
  if (name === undefined || tag === undefined) return { name: text, tag: null }
  return { name, tag: /^[1-9]\d{0,8}$/.test(tag) ? { version: Number(tag) } : { alias: tag } }
}

const longestSuffix = 40

/**
 * The name of a tuned model in OpenAI's form, `ft:base:account:suffix:id`. Only its last part, the id, says which model is
 * meant; the others are for people and for clients that look for "ft:".
 */
export function fineTunedName(
  { baseModel, name }: { baseModel: string; name: string },
  { accountId, customName }: { accountId: string; customName: string | null },
): string {
  const suffix =
    customName && canBeAsked(customName) ? customName.replaceAll(/[^\w.-]/g, '-').slice(0, longestSuffix) : ''
  return ['ft', baseModel, accountId.slice(0, 8), suffix, name].join(':')
}

/**
 * Some clients of OpenAI's API want names of tuned models to begin with "ft:", and put more words between.
 * @returns our part of such a name; any other name unchanged
 */
export const withoutPrefix = (name: string) => /^ft:(?:.*:)?([^:]+)$/s.exec(name)?.[1] ?? name
