// How models write calls of functions. runtime/anneal_runtime/tool_text.py has the same table for prompts.

export const callFormatNames = ['hermes', 'llama3', 'mistral'] as const
type CallFormatName = (typeof callFormatNames)[number]

export type CallFormat = {
  /** What a text cannot hold, because a call begins with it. */
  trigger: string
  /** Whether a text may stand before the first call. */
  follows: boolean
  opening: string
  /** Around each call. */
  before: string
  after: string
  between: string
  closing: string
  argumentsKey: string
  /** The token that stands before `opening` and is not shown in the text. */
  token?: number
}

const shared = { opening: '', before: '', after: '', closing: '', argumentsKey: 'arguments' }

/** Qwen and Hermes write `hermes`, as models do whose template knows no tools and which get them in the prompt's text. */
const formats = {
  hermes: {
    ...shared,
    trigger: '<tool_call>',
    follows: true,
    before: '<tool_call>\n',
    after: '\n</tool_call>',
    between: '\n',
  },
  llama3: { ...shared, trigger: '{"name": "', follows: false, between: '; ', argumentsKey: 'parameters' },
  mistral: {
    ...shared,
    trigger: '[TOOL_CALLS]',
    follows: true,
    opening: '[TOOL_CALLS][',
    between: ', ',
    closing: ']',
  },
} satisfies Record<CallFormatName, CallFormat>

/** @param token the id of the trigger, where it is a token of its own */
export function callFormat(name: CallFormatName, token: number | null): CallFormat {
  if (token === null || name !== 'mistral') return formats[name]
  return { ...formats.mistral, trigger: '[{"name": "', opening: '[', token }
}

/** The text of a call up to its arguments. */
export const headOfCall = ({ argumentsKey }: CallFormat, name: string) => `{"name": "${name}", "${argumentsKey}": `
