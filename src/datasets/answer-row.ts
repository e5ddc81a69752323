// Rows for training on preferences (two answers to one prompt, the better one named) and on judged answers.
//
// Such a row is read as one row of supervised training for each of its answers, so that every form of a prompt that is known
// there is known here.
import type { ChatMessage } from '../domain/chat.ts'
import type { MethodName } from '../domain/method-table.ts'
import { readDatasetRow } from './dataset-row.ts'
import type { Answer, DatasetRow } from './read-row.ts'
import { answerNames, fieldsOf, isAbsent, isObject, type RowProblem } from './row-fields.ts'

type Compared = Extract<MethodName, 'dpo' | 'kto'>
type Fields = Record<string, unknown>

/** Names of the better and the worse answer. OpenAI's files have the second pair. */
const comparedNames = [
  ['chosen', 'rejected'],
  ['preferred_output', 'non_preferred_output'],
] as const

export const answerReaderOf =
  (method: Compared) =>
  (value: unknown, unread: string[] = []): DatasetRow | RowProblem => {
    if (!isObject(value)) return { field: 'row', reason: `is not an object such as ${examples[method]}` }
    const names = comparedNames.find((pair) => pair.some((name) => !isAbsent(value[name])))
    if (names) return readCompared(value, names, { method, unread })
    return method === 'dpo' ? notCompared(value) : readJudged(value, unread)
  }

const examples = {
  dpo: '{"prompt": "...", "chosen": "...", "rejected": "..."}',
  kto: '{"prompt": "...", "completion": "...", "label": true}',
} as const

/** Says which method takes a row without two answers. */
function notCompared(value: Fields): RowProblem {
  const fields = fieldsOf(value)
  const hasMessages = 'known' in fields && fields.known.has('messages')
  const kind = 'label' in value ? 'kto' : 'supervised'
  const form = hasMessages ? 'rows of messages' : kind === 'kto' ? 'rows with a label' : 'rows of one answer'
  const field = isObject(value['input']) ? 'preferred_output' : 'chosen'
  return { field, reason: `is missing. This job's method is dpo; ${form} are for ${kind}` }
}

type Reading = { method: Compared; unread: string[] }

function readCompared(
  value: Fields,
  [better, worse]: readonly [string, string],
  { method, unread }: Reading,
): DatasetRow | RowProblem {
  const { [better]: chosen, [worse]: rejected, ...rest } = value
  for (const [name, answer] of [
    [better, chosen],
    [worse, rejected],
  ] as const)
    if (isAbsent(answer)) return { field: name, reason: answer === undefined ? 'is missing' : 'is empty' }
  const asked = promptOf(rest, [chosen, rejected])
  if ('reason' in asked) return asked
  const first = readAnswered(asked.rest, asked.answers[0], { name: better, unread })
  if ('reason' in first) return first
  const second = readAnswered(asked.rest, asked.answers[1], { name: worse, unread: [] })
  if ('reason' in second) return second
  const answers: Answer[] = [
    { said: saidIn(first), isGood: true },
    { said: saidIn(second), isGood: false },
  ]
  if (JSON.stringify(answers[0]?.said) === JSON.stringify(answers[1]?.said))
    return { field: worse, reason: `is the same as ${better}` }
  return { ...first, answers: { areCompared: method === 'dpo', list: answers } }
}

function readJudged(value: Fields, unread: string[]): DatasetRow | RowProblem {
  const { label, ...rest } = value
  if (isAbsent(label)) return { field: 'label', reason: "is missing (this job's method is kto)" }
  // CSV has texts only.
  const isGood = label === true || label === 'true' ? true : label === false || label === 'false' ? false : null
  if (isGood === null) return { field: 'label', reason: 'is not true or false' }
  const name = answerNames.find((each) => !isAbsent(rest[each]))
  const isConversation = !isAbsent(rest['messages']) || !isAbsent(rest['conversations'])
  if (!name && !isConversation) return { field: 'completion', reason: "is missing (this job's method is kto)" }
  const row = readDatasetRow(rest, unread)
  if ('reason' in row) return row
  const problem = promptProblem(row, 'prompt')
  return problem ?? { ...row, answers: { areCompared: false, list: [{ said: saidIn(row), isGood }] } }
}

type Asked = { rest: Fields; answers: [unknown, unknown] }

/** The fields before the answers. OpenAI has them in `input`; two whole conversations, or two whole texts, share theirs. */
function promptOf(rest: Fields, answers: [unknown, unknown]): Asked | RowProblem {
  const { input, ...others } = rest
  if (isObject(input)) {
    const { messages, tools, parallel_tool_calls: _, ...unknown } = input
    return { rest: { ...others, ...unknown, prompt: messages, ...(tools !== undefined && { tools }) }, answers }
  }
  const [chosen, rejected] = answers
  if (typeof chosen === 'string' && typeof rejected === 'string' && !mayHoldPrompt(rest))
    return sharedBeginning(rest, chosen, rejected)
  if (!Array.isArray(chosen) || !Array.isArray(rejected) || chosen.length === 1 || Array.isArray(rest['prompt']))
    return { rest, answers }
  const [before, same] = [chosen.slice(0, -1) as unknown[], rejected.slice(0, -1) as unknown[]]
  if (JSON.stringify(before) !== JSON.stringify(same))
    return { field: 'rejected', reason: 'does not begin with the same messages as chosen' }
  const { prompt: _, ...without } = rest
  return { rest: { ...without, prompt: before }, answers: [chosen.slice(-1), rejected.slice(-1)] }
}

/** Beside two whole texts stand scores alone. A text or a list could be a prompt under a name that is not known here. */
const mayHoldPrompt = (rest: Fields) => Object.values(rest).some((value) => !isAbsent(value) && !isScore(value))

const isScore = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'

/**
 * The prompt of two whole texts is what both begin with, without the space before the first difference, as TRL has it
 * (`extract_prompt`); a character of two units is not divided.
 */
function sharedBeginning(rest: Fields, chosen: string, rejected: string): Asked {
  let end = 0
  while (end < chosen.length && chosen[end] === rejected[end]) end++
  if (chosen[end - 1] === ' ' || /[\uD800-\uDBFF]/.test(chosen[end - 1] ?? '')) end--
  return { rest: { ...rest, prompt: chosen.slice(0, end) }, answers: [chosen.slice(end), rejected.slice(end)] }
}

/** The row with one of its answers. Problems name the field that the row has. */
function readAnswered(
  rest: Fields,
  answer: unknown,
  { name, unread }: { name: string; unread: string[] },
): DatasetRow | RowProblem {
  if (Array.isArray(answer) && answer.length !== 1)
    return { field: name, reason: `has ${answer.length} messages; an answer is one message of the assistant` }
  const named = (row: DatasetRow | RowProblem) => ('reason' in row ? { ...row, field: renamed(row.field, name) } : row)
  const row = named(readDatasetRow(withAnswer(rest, answer), unread))
  if ('reason' in row) return row
  return promptProblem(row, promptNameOf(name)) ?? row
}

function withAnswer(rest: Fields, answer: unknown): Fields {
  const conversation = rest['conversations'] ?? rest['messages']
  const message = Array.isArray(answer) ? (answer[0] as unknown) : answer
  if (Array.isArray(conversation)) {
    const name = rest['conversations'] ? 'conversations' : 'messages'
    const said = typeof message === 'string' ? { role: 'assistant', content: message } : message
    return { ...rest, [name]: [...(conversation as unknown[]), said] }
  }
  if (Array.isArray(rest['prompt'])) return { ...rest, completion: isObject(message) ? [message] : message }
  const text = isObject(message) ? (message['content'] ?? message['value']) : message
  return { ...rest, ...(isAbsent(rest['instruction']) ? { completion: text } : { output: text }) }
}

const promptNameOf = (answerName: string) => (answerName.endsWith('preferred_output') ? 'input.messages' : 'prompt')

/** The fields of the row that is read are `completion`, `output` and `prompt`. */
const renamed = (field: string, name: string) =>
  field.replace(/^(completion|output)(?=$|[[.])/, name).replace(/^prompt(?=\[)/, promptNameOf(name))

function promptProblem({ input, conversation }: DatasetRow, field: string): RowProblem | null {
  if (!conversation) return input === '' ? { field, reason: 'is missing' } : null
  const last = conversation.messages.at(-2)
  return last && (last.role === 'user' || last.role === 'tool')
    ? null
    : { field, reason: 'does not end in a message of the user' }
}

/** The last message of a conversation, or a text. */
const saidIn = ({ output, conversation }: DatasetRow): string | ChatMessage =>
  conversation ? (conversation.messages.at(-1) as ChatMessage) : output
