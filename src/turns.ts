// A bounded number of turns, shared fairly between owners: a free turn goes to the owner who holds the fewest, and among equal
// ones to the owner who has waited for a turn the longest. Each owner has a line of its own. So a turn costs one look at each
// owner, however long the lines are.

type Waiting = { hasLeft: boolean; turn: PromiseWithResolvers<void>; next: Waiting | null }
/** An owner who waits or holds a turn. */
type Line = {
  held: number
  /** The number of the owner's newest turn, 0 before the first. */
  lastTurn: number
  first: Waiting | null
  last: Waiting | null
  /** Without those who have left. */
  waitingCount: number
}

export function createTurns({ atMost, atMostOfOne }: { atMost: number; atMostOfOne: number }) {
  const lines = new Map<string, Line>()
  let turnCount = 0
  let busy = 0

  function lineOf(owner: string): Line {
    const line = lines.get(owner) ?? { held: 0, lastTurn: 0, first: null, last: null, waitingCount: 0 }
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
      if (line.waitingCount > 0 && mayBegin(line) && (!next || compare(line, next) < 0)) next = line
    if (!next) return
    begin(next)
    shift(next)?.turn.resolve()
  }

  function forgetIdle(owner: string, { held, waitingCount }: Line) {
    if (held === 0 && waitingCount === 0) lines.delete(owner)
  }

  return {
    /** @throws the signal's reason */
    async take(owner: string, signal?: AbortSignal): Promise<void> {
      const line = lineOf(owner)
      if (mayBegin(line)) return begin(line)
      const mine = push(line)
      const leave = () => {
        mine.hasLeft = true
        line.waitingCount--
        if (line.waitingCount === 0) line.first = line.last = null
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
  const mine: Waiting = { hasLeft: false, turn: Promise.withResolvers(), next: null }
  if (line.last) line.last.next = mine
  else line.first = mine
  line.last = mine
  line.waitingCount++
  return mine
}

/** The first who has not left. Whoever leaves stays in the line until then: to find the place would cost a look at the line. */
function shift(line: Line): Waiting | null {
  let next = line.first
  while (next?.hasLeft) next = next.next
  line.first = next?.next ?? null
  if (!line.first) line.last = null
  if (next) line.waitingCount--
  return next
}
