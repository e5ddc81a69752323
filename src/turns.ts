// A bounded number of turns, shared fairly between accounts: a free turn goes to the account that holds the fewest, and among equal
// ones to the account that has waited for a turn the longest. Each account has a line of its own. So a turn costs one look at each
// account, however long the lines are.

type Waiting = {
  isWaiting: boolean
  turn: PromiseWithResolvers<void>
  previous: Waiting | null
  next: Waiting | null
}
/** An account that waits for a turn or holds one. */
type Line = {
  held: number
  /** The number of the account's newest turn, 0 before the first. */
  lastTurn: number
  first: Waiting | null
  last: Waiting | null
}

export function createTurns({ atMost, atMostOfAccount }: { atMost: number; atMostOfAccount: number }) {
  const lines = new Map<string, Line>()
  let turnCount = 0
  let busy = 0

  function lineOf(account: string): Line {
    const line = lines.get(account) ?? { held: 0, lastTurn: 0, first: null, last: null }
    lines.set(account, line)
    return line
  }

  const mayBegin = ({ held }: Line) => busy < atMost && held < atMostOfAccount

  function begin(line: Line) {
    busy++
    line.held++
    line.lastTurn = ++turnCount
  }

  function beginNext() {
    let next: Line | undefined
    for (const line of lines.values())
      if (line.first && mayBegin(line) && (!next || compare(line, next) < 0)) next = line
    if (!next?.first) return
    const { first } = next
    remove(next, first)
    begin(next)
    first.turn.resolve()
  }

  function forgetIdle(account: string, { held, first }: Line) {
    if (held === 0 && !first) lines.delete(account)
  }

  return {
    /** @throws the signal's reason */
    async take(account: string, signal?: AbortSignal): Promise<void> {
      const line = lineOf(account)
      if (mayBegin(line)) return begin(line)
      const mine = push(line)
      const leave = () => {
        // The turn was given, and whoever asked for it has not heard yet.
        if (!mine.isWaiting) return
        remove(line, mine)
        forgetIdle(account, line)
        mine.turn.reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', leave)
      await mine.turn.promise.finally(() => signal?.removeEventListener('abort', leave))
    },

    heldBy: (account: string) => lines.get(account)?.held ?? 0,

    giveBack(account: string) {
      const line = lineOf(account)
      busy--
      line.held--
      forgetIdle(account, line)
      beginNext()
    },
  }
}

/** Lower goes first. */
const compare = (a: Line, b: Line) => a.held - b.held || a.lastTurn - b.lastTurn

function push(line: Line): Waiting {
  const mine: Waiting = { isWaiting: true, turn: Promise.withResolvers(), previous: line.last, next: null }
  if (line.last) line.last.next = mine
  else line.first = mine
  line.last = mine
  return mine
}

function remove(line: Line, mine: Waiting) {
  const { previous, next } = mine
  if (previous) previous.next = next
  else line.first = next
  if (next) next.previous = previous
  else line.last = previous
  mine.isWaiting = false
}

/** Yields the pieces of a body or a file. Each waits for a turn, but not the first: its request has just had one. */
export async function* inTurns<T>(pieces: AsyncIterable<T>, turn: () => Promise<void>): AsyncGenerator<T> {
  let isFirst = true
  for await (const piece of pieces) {
    if (!isFirst) await turn()
    isFirst = false
    yield piece
  }
}
