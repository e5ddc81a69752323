// Two answers to one prompt, of which the better one is named. Each is read as the answer of a row of its own, and problems name the
// place that the answer has in the file.
import type { ChatMessage } from '../domain/chat.ts'
import { readDatasetRow } from './dataset-row.ts'
import { readMessage } from './message.ts'
import type { Answer, DatasetRow } from './read-row.ts'
import { isAbsent, isObject, type RowProblem } from './row-fields.ts'

type Fields = Record<string, unknown>
type Read = { row: DatasetRow; answers: Answer[] }

/** @param names those of the better and of the worse answer */
export function readCompared(
  value: Fields,
  [better, worse]: readonly [string, string],
  unread: string[],
): Read | RowProblem {
  const { [better]: chosen, [worse]: rejected, ...rest } = value
  for (const [name, answer] of [
    [better, chosen],
    [worse, rejected],
  ] as const)
    if (isAbsent(answer)) return { field: name, reason: answer === undefined ? 'is missing' : 'is empty' }
  const asked = promptOf(rest, unread, [better, chosen], [worse, rejected])
  if ('reason' in asked) return asked
  const rows: DatasetRow[] = []
  for (const answer of asked.answers) {
    const row = readAnswered(asked, answer, unread)
    if ('reason' in row) return row
    rows.push(row)
  }
  const [first, second] = rows as [DatasetRow, DatasetRow]
  const answers = [
    { said: saidIn(first), isGood: true },
    { said: saidIn(second), isGood: false },
  ]
  return JSON.stringify(answers[0]?.said) === JSON.stringify(answers[1]?.said)
    ? { field: worse, reason: `is the same as ${better}` }
    : { row: first, answers }
}

/** `place`: that of the answer in the file. `given`: its text or its message. */
type Said = { place: string; given: unknown }
/** `places`: those of the prompt and of its tools in the file, where the row that is read has other names. */
type Asked = { rest: Fields; answers: Said[]; prompt: string; places: readonly (readonly [RegExp, string])[] }

/** The fields before the answers. OpenAI has them in `input`; two whole conversations, or two whole texts, share theirs. */
function promptOf(
  rest: Fields,
  unread: string[],
  better: readonly [string, unknown],
  worse: readonly [string, unknown],
): Asked | RowProblem {
  const isOpenAi = better[0] === 'preferred_output'
  if (isOpenAi && (isObject(rest['input']) || isAbsent(rest['input'])))
    return promptOfOpenAi(rest, unread, better, worse)
  if (typeof better[1] === 'string' && typeof worse[1] === 'string' && !isOpenAi && !mayHoldPrompt(rest))
    return sharedBeginning(rest, [better[0], better[1]], [worse[0], worse[1]])
  const lists = [better, worse].map(([, answer]) => (Array.isArray(answer) ? (answer as unknown[]) : null))
  const [chosen, rejected] = lists
  const areWhole = lists.some((list) => list && list.length > 1) && !Array.isArray(rest['prompt'])
  if (!areWhole || isOpenAi) return asAnswers({ rest, prompt: 'prompt', places: [] }, better, worse)
  for (const [index, [name]] of [better, worse].entries())
    if (!lists[index]) return { field: name, reason: 'is not a list of messages' }
  const [before, same] = [chosen?.slice(0, -1) ?? [], rejected?.slice(0, -1) ?? []]
  if (JSON.stringify(before) !== JSON.stringify(same))
    return { field: worse[0], reason: `does not begin with the same messages as ${better[0]}` }
  const { prompt, messages, ...without } = rest
  if (!isAbsent(prompt) && !before.some((each) => isObject(each) && Object.values(each).includes(prompt)))
    unread.push('prompt')
  // UltraFeedback repeats the better conversation in `messages`.
  const isRepeated = lists.some((list) => JSON.stringify(list) === JSON.stringify(messages))
  const others = { ...without, ...(messages !== undefined && !isRepeated && { messages }) }
  const answers = [better, worse].map(([name], index) => ({
    place: `${name}[${before.length}]`,
    given: lists[index]?.at(-1),
  }))
  const bad = answers.find(({ given }) => !isObject(given))
  if (bad) return { field: bad.place, reason: 'is not a message' }
  const places = [[/^prompt(?=$|\[)/, better[0]]] as const
  return { rest: { ...others, prompt: before }, answers, prompt: better[0], places }
}

/** Beside two whole texts stand scores alone. A text or a list could be a prompt under a name that is not known here. */
const mayHoldPrompt = (rest: Fields) =>
  Object.entries(rest).some(([name, value]) => !isAbsent(value) && (name === 'prompt' || !isScore(value)))

const isScore = (value: unknown) => typeof value === 'number' || typeof value === 'boolean'

/**
 * The prompt of two whole texts is what both begin with, without the space before the first difference, as TRL has it
 * (`extract_prompt`); a character of two units is not divided.
 */
function sharedBeginning(rest: Fields, ...named: (readonly [string, string])[]): Asked {
  const [chosen = '', rejected = ''] = named.map(([, text]) => text)
  let end = 0
  while (end < chosen.length && chosen[end] === rejected[end]) end++
  if (chosen[end - 1] === ' ' || /[\uD800-\uDBFF]/.test(chosen[end - 1] ?? '')) end--
  const answers = named.map(([place, text]) => ({ place, given: text.slice(end) }))
  return { rest: { ...rest, prompt: chosen.slice(0, end) }, answers, prompt: 'prompt', places: [] }
}

function promptOfOpenAi(
  { input, prompt, ...others }: Fields,
  unread: string[],
  better: readonly [string, unknown],
  worse: readonly [string, unknown],
): Asked | RowProblem {
  if (!isObject(input)) return { field: 'input', reason: 'is missing' }
  if (!isAbsent(prompt)) unread.push('prompt')
  const { messages, tools, parallel_tool_calls: areParallel, ...unknown } = input
  if (isAbsent(messages)) return { field: 'input.messages', reason: 'is missing' }
  if (!Array.isArray(messages)) return { field: 'input.messages', reason: 'is not a list of messages' }
  if (!isAbsent(areParallel) && typeof areParallel !== 'boolean')
    return { field: 'input.parallel_tool_calls', reason: 'is not true or false' }
  const places = [
    [/^prompt(?=$|\[)/, 'input.messages'],
    [/^tools(?=$|\[)/, 'input.tools'],
  ] as const
  const rest = { ...others, ...unknown, prompt: messages, ...(tools !== undefined && { tools }) }
  return asAnswers({ rest, prompt: 'input.messages', places }, better, worse)
}

/** An answer that is a list has one message. */
function asAnswers(asked: Omit<Asked, 'answers'>, ...named: (readonly [string, unknown])[]): Asked | RowProblem {
  const answers: Said[] = []
  for (const [name, answer] of named) {
    if (!Array.isArray(answer)) answers.push({ place: name, given: answer })
    else if (answer.length !== 1)
      return { field: name, reason: `has ${answer.length} messages; an answer is one message of the assistant` }
    else if (!isObject(answer[0])) return { field: `${name}[0]`, reason: 'is not a message' }
    else answers.push({ place: `${name}[0]`, given: answer[0] })
  }
  return { ...asked, answers }
}

/** The row with one of its answers. */
function readAnswered(asked: Asked, { place, given }: Said, unread: string[]): DatasetRow | RowProblem {
  const { rest, prompt, places } = asked
  const list = (['conversations', 'messages'] as const).find((name) => Array.isArray(rest[name]))
  const isChat = list !== undefined || Array.isArray(rest['prompt'])
  const said = isObject(given) ? readSaid(given, place, { isChat, unread }) : given
  if (isProblem(said)) return said
  const answer = isChat ? (isObject(given) ? given : { role: 'assistant', content: given }) : said
  const messages = list === undefined ? [] : (rest[list] as unknown[])
  const name = list ?? (isChat || isAbsent(rest['instruction']) ? 'completion' : 'output')
  const others: string[] = []
  const row = readDatasetRow({ ...rest, [name]: isChat ? [...messages, answer] : answer }, others)
  const at = isChat ? `${name}[${messages.length}]` : name
  const named = (path: string) =>
    path.startsWith(at) || path === 'completion'
      ? `${place}${isObject(given) ? path.slice(at.length) : ''}`
      : places.reduce((text, [from, to]) => text.replace(from, () => to), path)
  for (const path of others.filter((each) => list || !each.startsWith(name)).map(named))
    if (!unread.includes(path)) unread.push(path)
  return 'reason' in row ? { ...row, field: named(row.field) } : (promptProblem(row, list ?? prompt) ?? row)
}

const isProblem = (said: unknown): said is RowProblem => isObject(said)

/** @returns the text of a message that answers */
function readSaid(
  given: Fields,
  place: string,
  { isChat, unread }: { isChat: boolean; unread: string[] },
): string | RowProblem {
  const others: string[] = []
  const read = readMessage(given, { list: '', index: 0, open: [], unread: others })
  if ('reason' in read) return { ...read, field: place + read.field.slice('[0]'.length) }
  const { role, content, calls } = read.message
  if (role !== 'assistant')
    return { field: `${place}.${isAbsent(given['role']) ? 'from' : 'role'}`, reason: 'is not the assistant' }
  if (calls && !isChat) return { field: `${place}.tool_calls`, reason: 'is for a prompt of messages' }
  const list = place.endsWith(']') ? `${place.slice(0, place.lastIndexOf('['))}[]` : place
  for (const path of others.map((each) => list + each.slice('[]'.length))) if (!unread.includes(path)) unread.push(path)
  return content
}

/** @param field the prompt in the file */
export function promptProblem({ input, conversation }: DatasetRow, field: string): RowProblem | null {
  if (!conversation) return input === '' ? { field, reason: 'is missing' } : null
  const last = conversation.messages.at(-2)
  if (last?.role !== 'user' && last?.role !== 'tool') return { field, reason: 'the last message is not of the user' }
  return last.role === 'user' && last.content === '' ? { field, reason: 'ends in an empty message of the user' } : null
}

/** The last message of a conversation, or a text. */
export const saidIn = ({ output, conversation }: DatasetRow): string | ChatMessage =>
  conversation ? (conversation.messages.at(-1) as ChatMessage) : output
