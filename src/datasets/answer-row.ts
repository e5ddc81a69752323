// Rows for training on preferences (two answers to one prompt, the better one named) and on judged answers.
//
// Such a row is read as one row of supervised training for each of its answers, so that every form of a prompt that is known
// there is known here.
import type { MethodName } from '../domain/method-table.ts'
import { promptProblem, readCompared, saidIn } from './compared-row.ts'
import { readDatasetRow } from './dataset-row.ts'
import type { DatasetRow } from './read-row.ts'
import { answerNames, fieldsOf, isAbsent, isObject, listNames, type RowProblem } from './row-fields.ts'
import { listed } from './shown-names.ts'

type Compared = Extract<MethodName, 'dpo' | 'kto'>
type Fields = Record<string, unknown>

/** Names of the better and the worse answer. OpenAI's files have the second pair, axolotl's of Argilla the third. */
const comparedNames = [
  ['chosen', 'rejected'],
  ['preferred_output', 'non_preferred_output'],
  ['chosen_response', 'rejected_response'],
] as const

/** Files of ms-swift have the better answer where supervised rows have theirs. */
const otherForms = [
  [
    'chosen_response',
    'rejected_response',
    'rename rejected_response to rejected, and move the better answer from the end of the row into chosen',
  ],
  ['chosen', 'rejected_messages', 'rename messages to chosen, and rejected_messages to rejected'],
] as const

export const answerReaderOf =
  (method: Compared) =>
  (value: unknown, unread: string[] = []): DatasetRow | RowProblem => {
    if (!isObject(value)) return { field: 'row', reason: `is not an object such as ${examples[method]}` }
    const other = otherForms.find(([better, worse]) => isAbsent(value[better]) && !isAbsent(value[worse]))
    if (other) return { field: 'chosen', reason: `is missing: ${other[2]}` }
    const names = comparedNames.find((pair) => pair.some((name) => !isAbsent(value[name])))
    if (names) {
      const read = readCompared(value, names, unread)
      return 'reason' in read ? read : { ...read.row, answers: { areCompared: method === 'dpo', list: read.answers } }
    }
    return method === 'dpo' ? notCompared(value) : readJudged(value, unread)
  }

const examples = {
  dpo: '{"prompt": "...", "chosen": "...", "rejected": "..."}',
  kto: '{"prompt": "...", "completion": "...", "label": true}',
} as const

const pairForm = 'A pair has prompt, chosen and rejected'

const labelNames = ['label', 'kto_tag'] as const

/** The field that says whether an answer is good. LLaMA-Factory's files have the second name. */
const labelIn = (value: Fields) => labelNames.find((name) => !isAbsent(value[name]))

/** Says which method takes a row without two answers. */
function notCompared(value: Fields): RowProblem {
  const fields = fieldsOf(value)
  const hasMessages = 'known' in fields && fields.known.has('messages')
  const kind = labelIn(value) ? 'kto' : 'supervised'
  if (kind === 'supervised' && 'reason' in readDatasetRow(value))
    return { field: 'chosen', reason: `is missing: the row has ${listed(Object.keys(value))}. ${pairForm}` }
  const form = hasMessages ? 'rows of messages' : kind === 'kto' ? 'rows with a label' : 'rows of one answer'
  const field = hasMessages || isObject(value['input']) ? 'preferred_output' : 'chosen'
  return { field, reason: `is missing. This job's method is dpo; ${form} are for ${kind}` }
}

function readJudged(value: Fields, unread: string[]): DatasetRow | RowProblem {
  const field = labelIn(value) ?? 'label'
  const { [field]: label, ...rest } = value
  if (isAbsent(label)) return { field, reason: `is missing (this job's method is kto)` }
  // CSV has texts only.
  const isGood = label === true || label === 'true' ? true : label === false || label === 'false' ? false : null
  if (isGood === null) return { field, reason: 'is not true or false' }
  const name = answerNames.find((each) => !isAbsent(rest[each]))
  const isConversation = !isAbsent(rest['messages']) || !isAbsent(rest['conversations'])
  if (!name && !isConversation)
    return {
      field: 'completion',
      reason: `${rest['completion'] === '' ? 'is empty' : 'is missing'} (this job's method is kto)`,
    }
  if (Array.isArray(rest['completion']) && isAbsent(rest['prompt']) && !isConversation)
    return { field: 'prompt', reason: 'is missing: rename completion to messages if it has the prompt, too' }
  const row = readDatasetRow(rest, unread)
  if ('reason' in row) return row
  const problem = promptProblem(row, listNames.find((each) => Array.isArray(rest[each])) ?? 'prompt')
  return problem ?? { ...row, answers: { areCompared: false, list: [{ said: saidIn(row), isGood }] } }
}
