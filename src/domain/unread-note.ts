// Tells users which fields of their rows training does not read.
import type { DatasetReport } from './dataset-report.ts'

const unreadInMessage = 5

/** @returns what an event says about fields that training does not read, or null when there are none */
export function unreadNote(
  name: string,
  { unreadFields, method = 'supervised' }: Pick<DatasetReport, 'unreadFields' | 'method'>,
): string | null {
  if (unreadFields.length === 0) return null
  const forOther = method === 'supervised' ? otherMethodNote(unreadFields.map(({ field }) => field)) : null
  const listed = unreadFields
    .slice(0, unreadInMessage)
    .map(
      ({ field, rows, line }) =>
        `${JSON.stringify(field)} (${rows} ${rows === 1 ? 'row' : 'rows'}, first in line ${line})`,
    )
  const more = unreadFields.length > unreadInMessage ? `, and ${unreadFields.length - unreadInMessage} more` : ''
  return `The ${name} has fields that training does not read: ${listed.join(', ')}${more}. If the model should learn them, put their text into a field that is read.${forOther === null ? '' : ` ${forOther}`}`
}

/** By method, fields of its rows that supervised training can leave unread beside an answer. */
const fieldsOfMethods = {
  kto: ['label', 'kto_tag'],
  dpo: ['rejected', 'non_preferred_output', 'rejected_response', 'rejected_messages'],
}

/** @param names fields of rows that supervised training takes. @returns a sentence where another method reads one of them */
export function otherMethodNote(names: readonly string[]): string | null {
  for (const [method, fields] of Object.entries(fieldsOfMethods)) {
    const name = fields.find((field) => names.includes(field))
    if (name !== undefined)
      return `"${name}" is for the method ${method}: this job's method is supervised, which learns each answer as a good one. Choose ${method} to learn from "${name}".`
  }
  return null
}
