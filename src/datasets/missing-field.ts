// Says what a row lacks, what it has instead, and what to do about it.
import {
  answerNames,
  isAbsent,
  pairs,
  promptNames,
  type FieldName,
  type RowFields,
  type RowProblem,
} from './row-fields.ts'
import { listed } from './shown-names.ts'

/** Names what is missing in a row that has no prompt, no answer, or neither. */
export function missingField(row: Record<string, unknown>, { known, others }: RowFields): RowProblem {
  const has = (name: FieldName) => !isAbsent(known.get(name)?.value)
  const compared = known.get('chosen') ?? known.get('rejected') ?? known.get('preferred_output')
  if (compared && !isAbsent(compared.value)) return { field: compared.key, reason: comparison }
  if (known.size === 0 && others.length > 0) return { field: 'row', reason: `has no text to learn: ${advice(row)}` }
  const alone = known.size === 1 ? known.values().next().value : undefined
  if (alone && known.has('text')) return { field: alone.key, reason: alone.value === '' ? 'is empty' : 'is missing' }
  if (alone && (known.has('messages') || known.has('conversations')))
    return { field: alone.key, reason: 'is not a list of messages' }

  const lacks = (name: FieldName) => {
    const field = known.get(name)?.key ?? name
    return { field, reason: others.length > 0 ? `is missing: ${advice(row)}` : 'is missing' }
  }
  const answered = answerNames.find(has)
  if (answered) return lacks(pairs.find(([, answer]) => answer === answered)?.[0] ?? 'prompt')
  const asked = promptNames.find((name) => has(name) || known.get(name)?.value === '')
  if (!asked && !has('instruction') && !has('context')) return lacks('input')
  const expected = pairs.find(([prompt]) => prompt === asked)?.[1] ?? 'output'
  const name = [expected, ...answerNames].find((each) => known.has(each)) ?? expected
  const given = known.get(name)
  return given?.value === '' ? { field: given.key, reason: 'is empty' } : lacks(name)
}

const comparison =
  'is one of two answers to compare, which the method dpo learns from. This method learns a single answer: put the better one into completion'

/** Names what is missing in a file whose columns have names of their own. */
export const missingColumn = (row: Record<string, unknown>, field: string): RowProblem => ({
  field,
  reason: `is missing: the row has ${listed(Object.keys(row))}`,
})

const advice = (row: Record<string, unknown>) =>
  `the row has ${listed(Object.keys(row))}; ${formsOfRows}; POST /v1/data/{dataset_id}/columns makes such rows from other names`

const formsOfRows =
  'rows are read with input and output, prompt and completion (or response), question and answer, user and assistant, instruction and output (or response), text, messages, conversations, or prompt and completion as lists of messages (the first line of a CSV file names them)'
