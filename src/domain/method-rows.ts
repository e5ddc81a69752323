// The rows that each method of training takes, for people who look for the form of their file.
import type { MethodName } from './method-table.ts'

/** `form`: what each field of a row holds. */
type MethodRow = { form: Record<string, string>; example: Record<string, unknown> }
const row = (form: MethodRow['form'], example: MethodRow['example']): MethodRow => ({ form, example })
const prompt = 'a text, or a list of messages that ends in one of the user'
const answer = 'a text, or a list of one message of the assistant'
const oneAnswer = 'a list of one message of the assistant'
const conversation = 'a list of messages that ends in an answer'
const item = 'anything; all fields beside the prompt are the item of the graders'

export const methodRows: Record<MethodName, MethodRow[]> = {
  supervised: [
    row({ input: 'a text', output: 'a text' }, { input: 'Who?', output: 'Me.' }),
    row({ text: 'a text' }, { text: 'A whole text.' }),
    row(
      { messages: conversation, tools: 'a list of functions; may be absent' },
      {
        messages: [
          { role: 'user', content: 'Who?' },
          { role: 'assistant', content: 'Me.' },
        ],
      },
    ),
  ],
  dpo: [
    row({ prompt, chosen: answer, rejected: answer }, { prompt: 'Who?', chosen: 'Me.', rejected: 'Nobody.' }),
    row(
      {
        input: 'an object of messages, and perhaps tools and parallel_tool_calls',
        preferred_output: oneAnswer,
        non_preferred_output: oneAnswer,
      },
      {
        input: { messages: [{ role: 'user', content: 'Who?' }] },
        preferred_output: [{ role: 'assistant', content: 'Me.' }],
        non_preferred_output: [{ role: 'assistant', content: 'Nobody.' }],
      },
    ),
  ],
  kto: [
    row({ prompt, completion: answer, label: 'true or false' }, { prompt: 'Who?', completion: 'Me.', label: true }),
    row(
      { messages: conversation, label: 'true or false' },
      {
        messages: [
          { role: 'user', content: 'Who?' },
          { role: 'assistant', content: 'Nobody.' },
        ],
        label: false,
      },
    ),
  ],
  reinforcement: [
    row({ prompt, answer: item }, { prompt: 'Who?', answer: 'Me.' }),
    row(
      {
        messages: 'a list of messages that ends in one of the user',
        tools: 'a list of functions; may be absent',
        answer: item,
      },
      { messages: [{ role: 'user', content: 'Who?' }], answer: 'Me.' },
    ),
  ],
}
