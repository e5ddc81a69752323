// Texts of evals that name parts of an item or of its sample, such as {{item.question}} and {{sample.output_text}}.

/** The values that a text may name. `sample` is absent until the model has answered. */
export type TemplateValues = { item: unknown; sample?: unknown }

/** A text names a part that the item or the sample lacks. */
export class MissingPart extends Error {
  constructor(reference: string) {
    super(`{{${reference}}} names nothing there`)
    this.name = 'MissingPart'
  }
}

const braces = /\{\{\s*([^{}]*?)\s*\}\}/g
const reference = /^(?:item|sample)(?:\.[^.[\]\s]+|\[\d+\])*$/

/** The names in a text, such as `item.question`. */
export const referencesIn = (text: string): string[] => [...text.matchAll(braces)].map(([, name = '']) => name)

/** Whether a name is a path into the item or the sample. */
export const isReference = (name: string) => reference.test(name)

/** Puts values in place of their names: texts as they are, everything else as JSON. @throws MissingPart */
export const filled = (text: string, values: TemplateValues): string =>
  text.replace(braces, (_whole, name: string) => {
    const value = valueAt(name, values)
    return typeof value === 'string' ? value : JSON.stringify(value)
  })

/** @throws MissingPart */
export function valueAt(name: string, values: TemplateValues): unknown {
  let value: unknown = values
  for (const key of name.split(/[.[\]]+/).filter(Boolean)) {
    if (typeof value !== 'object' || value === null || !Object.hasOwn(value, key)) throw new MissingPart(name)
    value = (value as Record<string, unknown>)[key]
  }
  if (value === undefined) throw new MissingPart(name)
  return value
}
