/** A text, or the ids of its tokens in the model's own vocabulary. */
export type Prompt = string | readonly number[]

export const isText = (prompt: Prompt): prompt is string => typeof prompt === 'string'
