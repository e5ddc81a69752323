// A refused item is left out, so that the other items of its chunk are answered. An engine names one refused item at a time, or
// none. The rest is halved after each refusal, so that no item is sent more than log2(n) + 1 times.
import { ServiceError, type InputIssue } from '../src/domain/service-error.ts'

type Positions = readonly number[]

/** `answers`: in the order of the items, null for a refused one. `errors`: the refusals, by position in the batch. */
export type Answered<T> = { answers: (T | null)[]; errors: InputIssue[] }

/**
 * The returned function may be called again: it asks only for the items that were not refused before.
 * @param start position of the first item in the batch
 */
export function answerOthers({ start, itemCount }: { start: number; itemCount: number }) {
  let groups: Positions[] = itemCount === 0 ? [] : [Array.from({ length: itemCount }, (_, position) => position)]
  const refusals = new Map<number, string>()

  return async <T>(ask: (positions: Positions) => Promise<T[]>): Promise<Answered<T>> => {
    const answers = Array.from<T | null>({ length: itemCount }).fill(null)
    const answered: Positions[] = []
    for (let group = groups.shift(); group; group = groups.shift()) {
      try {
        const part = await ask(group)
        for (const [at, position] of group.entries()) answers[position] = part[at] as T
        answered.push(group)
      } catch (error) {
        const at = refusedIn(group, error)
        const refused = at === null ? null : (group[at] as number)
        if (refused !== null) refusals.set(refused, sentence(error as ServiceError, at, start + refused))
        groups.unshift(...halves(group.filter((position) => position !== refused)))
      }
    }
    groups = answered
    return { answers, errors: listed(refusals, start) }
  }
}

/** @returns where the refused item stands in the group; null when it is not named. Throws an error that is about no item. */
function refusedIn({ length }: Positions, error: unknown): number | null {
  const path = error instanceof ServiceError && error.code === 'invalid_input' ? error.issues[0]?.path : undefined
  const named = /^prompt\[(\d+)\]$/.exec(path ?? '')?.[1]
  if (named !== undefined && Number(named) < length) return Number(named)
  if (path !== 'prompt') throw error
  return length === 1 ? 0 : null
}

function halves(group: Positions): Positions[] {
  const middle = Math.ceil(group.length / 2)
  return [group.slice(0, middle), group.slice(middle)].filter(({ length }) => length > 0)
}

const sentence = ({ message }: ServiceError, at: number | null, position: number) =>
  message.replace(`position ${at}`, `position ${position}`)

const listed = (refusals: ReadonlyMap<number, string>, start: number): InputIssue[] =>
  [...refusals]
    .toSorted(([a], [b]) => a - b)
    .map(([position, message]) => ({ path: `prompt[${start + position}]`, message }))
