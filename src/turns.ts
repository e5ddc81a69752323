// A bounded number of turns, shared fairly between owners: a free turn goes to the owner who holds the fewest, and among equal
// ones to the owner who has waited for a turn the longest. Each owner has a line of its own. So a turn costs one look at each
// owner, however long the lines are.

type Waiting = {
  isWaiting: boolean
  turn: PromiseWithResolvers<void>
  previous: Waiting | null
  next: Waiting | null
}
/** An owner who waits or holds a turn. */
type Line = {
  held: number
  /** The number of the owner's newest turn, 0 before the first. */
  lastTurn: number
  first: Waiting | null
  last: Waiting | null
}

export function createTurns({ atMost, atMostOfOne }: { atMost: number; atMostOfOne: number }) {
  const lines = new Map<string, Line>()
  let turnCount = 0
  let busy = 0

  function lineOf(owner: string): Line {
    const line = lines.get(owner) ?? { held: 0, lastTurn: 0, first: null, last: null }
    lines.set(owner, line)
    return line
  }

  const mayBegin = ({ held }: Line) => busy < atMost && held < atMostOfOne

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

  function forgetIdle(owner: string, { held, first }: Line) {
    if (held === 0 && !first) lines.delete(owner)
  }

  return {
    /** @throws the signal's reason */
    async take(owner: string, signal?: AbortSignal): Promise<void> {
      const line = lineOf(owner)
      if (mayBegin(line)) return begin(line)
      const mine = push(line)
      const leave = () => {
        // The turn was given, and whoever asked for it has not heard yet.
        if (!mine.isWaiting) return
        remove(line, mine)
        forgetIdle(owner, line)
        mine.turn.reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', leave)
      await mine.turn.promise.finally(() => signal?.removeEventListener('abort', leave))
    },

    giveBack(owner: string) {
      const line = lineOf(owner)
      busy--
      line.held--
      forgetIdle(owner, line)
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
