// Texts of evals that name parts of an item or of its sample, such as {{item.question}} and {{sample.output_text}}.

/** The values that a text may name. `sample` is absent until the model has answered. */
export type TemplateValues = { item: unknown; sample?: unknown }

/** A text cannot be filled with an item; see `whyUnfilled`. */
export abstract class UnfilledText extends Error {}

/** A text names a part that the item or the sample lacks. */
export class MissingPart extends UnfilledText {
  constructor(reference: string) {
    super(`{{${reference.slice(0, maxReferenceLength)}}} names nothing there`)
    this.name = 'MissingPart'
  }
}

/** A short template that names a long part many times would fill the memory. */
export const filledCharacters = 2 * 1024 * 1024

/** The texts that are filled with one item are too long together. */
export class TooLongTexts extends UnfilledText {
  constructor() {
    super(`the texts have more than ${filledCharacters} characters together`)
    this.name = 'TooLongTexts'
  }
}

/** A sentence for the owner. @param item what the sentence calls the item */
export const whyUnfilled = ({ name, message }: UnfilledText, item = 'The item') =>
  name === 'MissingPart'
    ? `${item} lacks a part: ${message}.`
    : `${item} is too long for the texts that name its parts: ${message}. Name fewer or shorter parts.`

/** The characters that are left for the texts of one item. */
export type Room = { characters: number }
export const roomForItem = (): Room => ({ characters: filledCharacters })

/** @throws TooLongTexts */
export function take(room: Room, characters: number) {
  room.characters -= characters
  if (room.characters < 0) throw new TooLongTexts()
}

/** Matches in time that grows with the length of the text: what stands between the braces is never read twice. */
const braces = /\{\{([^{}]*)\}\}/g
const reference = /^(?:item|sample)(?:\.[^.[\]\s]+|\[\d+\])*$/
export const maxReferenceLength = 256

/** The names in a text, such as `item.question`. */
export const referencesIn = (text: string): string[] => [...text.matchAll(braces)].map(([, name = '']) => name.trim())

/** Whether a name is a path into the item or the sample. */
export const isReference = (name: string) => name.length <= maxReferenceLength && reference.test(name)

/** The characters of a text beside its names. */
export const fixedCharacters = (text: string) => text.replace(braces, '').length

type Part = string | { text: string }
/** A message whose texts may name parts. */
export type TemplateMessage = { role: string; content: Part | Part[] }

/** The text of a message, with its names. */
export function textOf({ content }: TemplateMessage): string {
  const parts = Array.isArray(content) ? content : [content]
  return parts.map((part) => (typeof part === 'string' ? part : part.text)).join('')
}

/** Puts values in place of their names. @throws MissingPart, TooLongTexts */
export function filled(text: string, values: TemplateValues, room: Room = roomForItem()): string {
  let result = ''
  let end = 0
  const put = (piece: string) => {
    take(room, piece.length)
    result += piece
  }
  for (const { 0: whole, 1: name = '', index } of text.matchAll(braces)) {
    put(text.slice(end, index))
    put(textAt(name.trim(), values))
    end = index + whole.length
  }
  put(text.slice(end))
  return result
}

/** Texts as they are, everything else as JSON. @throws MissingPart */
export function textAt(name: string, values: TemplateValues): string {
  const value = valueAt(name, values)
  return typeof value === 'string' ? value : JSON.stringify(value)
}

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
