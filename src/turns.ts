// A bounded number of turns, shared fairly between owners: a free turn goes to the owner who holds the fewest, and among equal
// ones to the owner who has waited for a turn the longest.

type Waiting = { owner: string; turn: PromiseWithResolvers<void> }

export function createTurns({ atMost, atMostOfOne }: { atMost: number; atMostOfOne: number }) {
  const waiting: Waiting[] = []
  const held = new Map<string, number>()
  /** When each owner, with work here, last got a turn. */
  const lastTurn = new Map<string, number>()
  let turnCount = 0
  let busy = 0

  const heldBy = (owner: string) => held.get(owner) ?? 0
  const mayBegin = (owner: string) => busy < atMost && heldBy(owner) < atMostOfOne
  /** Lower goes first. Within an owner, the order of arrival holds. */
  const compare = (a: string, b: string) => heldBy(a) - heldBy(b) || (lastTurn.get(a) ?? 0) - (lastTurn.get(b) ?? 0)

  function begin(owner: string) {
    busy++
    held.set(owner, heldBy(owner) + 1)
    lastTurn.set(owner, ++turnCount)
  }

  function beginNext() {
    let next: Waiting | undefined
    for (const each of waiting) if (mayBegin(each.owner) && (!next || compare(each.owner, next.owner) < 0)) next = each
    if (!next) return
    waiting.splice(waiting.indexOf(next), 1)
    begin(next.owner)
    next.turn.resolve()
  }

  return {
    /** @throws the signal's reason */
    async take(owner: string, signal?: AbortSignal): Promise<void> {
      if (mayBegin(owner)) return begin(owner)
      const mine: Waiting = { owner, turn: Promise.withResolvers() }
      waiting.push(mine)
      const leave = () => {
        const at = waiting.indexOf(mine)
        if (at >= 0) waiting.splice(at, 1)
        mine.turn.reject(signal?.reason as Error)
      }
      signal?.addEventListener('abort', leave)
      await mine.turn.promise.finally(() => signal?.removeEventListener('abort', leave))
    },

    giveBack(owner: string) {
      busy--
      const left = heldBy(owner) - 1
      if (left > 0) held.set(owner, left)
      else held.delete(owner)
      if (left === 0 && !waiting.some((each) => each.owner === owner)) lastTurn.delete(owner)
      beginNext()
    },
  }
}
