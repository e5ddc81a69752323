/** A text, or the ids of its tokens in the model's own vocabulary. */
export type Prompt = string | readonly number[]

/**
 * How many of the first characters of each prompt are text, in which special tokens such as `</s>` are letters. They act in
 * the rest. Absent: none are.
 */
export type TextLengths = readonly number[] | undefined

export const isText = (prompt: Prompt): prompt is string => typeof prompt === 'string'
