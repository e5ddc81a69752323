// Turns between those who share an engine: accounts, and the requests of one account. The next turn goes to the one whose calls
// have cost the fewest tokens. A call costs an estimate while it runs, and its counted tokens once it is answered.

/** One taker of turns. Times without calls earn nothing: see `join`. */
export type Taker = {
  /** Tokens of its ended calls. Only comparable with those of takers that have calls now. */
  spent: number
  /** Estimated tokens of its running calls. */
  held: number
  waiting: number
  running: number
}

export const createTaker = (): Taker => ({ spent: 0, held: 0, waiting: 0, running: 0 })

/** Adds a waiting call. A taker that had none starts level with the one of the others that has spent least. */
export function join(taker: Taker, all: Iterable<Taker>) {
  if (!isActive(taker)) {
    let least = Number.POSITIVE_INFINITY
    for (const other of all) if (isActive(other)) least = Math.min(least, other.spent)
    if (least < Number.POSITIVE_INFINITY) taker.spent = Math.max(taker.spent, least)
  }
  taker.waiting += 1
}

/** Takes back a call that waits. */
export function leave(taker: Taker) {
  taker.waiting -= 1
}

export function begin(taker: Taker, tokens: number) {
  taker.waiting -= 1
  taker.running += 1
  taker.held += tokens
}

/** @param tokens as given to `begin` @param counted what the call cost in the end */
export function end(taker: Taker, tokens: number, counted: number) {
  taker.running -= 1
  taker.held -= tokens
  taker.spent += counted
}

/** The taker of the next turn among those that wait. At equal cost the earlier one in `all`. */
export function nextOf<T extends Taker>(all: Iterable<T>): T | null {
  let next: T | null = null
  for (const taker of all) if (taker.waiting > 0 && (!next || cost(taker) < cost(next))) next = taker
  return next
}

const isActive = ({ waiting, running }: Taker) => waiting + running > 0
const cost = ({ spent, held }: Taker) => spent + held
