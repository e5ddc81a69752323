// The form of the rows of a data set, in constant memory.
import type { LearnedForm } from '../domain/learned.ts'
import type { DatasetRow } from './dataset-row.ts'

/** Lists of models repeat the message, so a longer one is not kept. */
const maxSystemCharacters = 8000

const formOf = ({ input, conversation }: DatasetRow): LearnedForm =>
  conversation ? 'conversations' : input === '' ? 'texts' : 'pairs'

export function createFormCount() {
  const counts: Record<LearnedForm, number> = { conversations: 0, pairs: 0, texts: 0 }
  return {
    add: (row: DatasetRow) => void counts[formOf(row)]++,
    /** @returns the form of most rows */
    form(): LearnedForm | null {
      const forms = Object.keys(counts) as LearnedForm[]
      const most = forms.reduce((best, each) => (counts[each] > counts[best] ? each : best))
      return counts[most] === 0 ? null : most
    },
  }
}

/**
 * Finds the system message that more than half of the conversations begin with. The first reading leaves one candidate (the
 * majority vote of Boyer and Moore), the second one counts it.
 */
export function createSystemMessageVote() {
  let candidate: string | null = null
  let [lead, conversations, confirmed] = [0, 0, 0]
  return {
    add(row: DatasetRow) {
      if (!row.conversation) return
      const message = systemMessageOf(row)
      conversations++
      if (lead === 0) candidate = message
      lead += message === candidate ? 1 : -1
    },
    confirm(row: DatasetRow) {
      if (row.conversation && systemMessageOf(row) === candidate) confirmed++
    },
    winner: () =>
      confirmed * 2 > conversations && candidate && candidate.length <= maxSystemCharacters ? candidate : null,
  }
}

function systemMessageOf({ conversation }: DatasetRow): string | null {
  const first = conversation?.messages[0]
  return first?.role === 'system' ? first.content : null
}
