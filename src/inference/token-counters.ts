// Shares an engine by virtual token counters (Sheng et al., "Fairness in Serving Large Language Models", 2024): between accounts,
// and between the requests of one account. The next call is of the counter whose calls have cost the fewest tokens. A call
// costs an estimate while it runs, and its counted tokens once it is answered.

/** The tokens of one account, or of one request. Times without calls earn nothing: see `join`. */
export type TokenCounter = {
  /** Tokens of its ended calls. Only comparable with those of counters that have calls now. */
  spent: number
  /** Estimated tokens of its running calls. */
  held: number
  waiting: number
  running: number
}

export const createCounter = (): TokenCounter => ({ spent: 0, held: 0, waiting: 0, running: 0 })

/** Adds a waiting call. A counter that had none starts level with the one of the others that has spent least. */
export function join(counter: TokenCounter, all: Iterable<TokenCounter>) {
  if (!isActive(counter)) {
    let least = Number.POSITIVE_INFINITY
    for (const other of all) if (isActive(other)) least = Math.min(least, other.spent)
    if (least < Number.POSITIVE_INFINITY) counter.spent = Math.max(counter.spent, least)
  }
  counter.waiting += 1
}

/** Takes back a call that waits. */
export function leave(counter: TokenCounter) {
  counter.waiting -= 1
}

export function begin(counter: TokenCounter, tokens: number) {
  counter.waiting -= 1
  counter.running += 1
  counter.held += tokens
}

/** @param tokens as given to `begin` @param counted what the call cost in the end */
export function end(counter: TokenCounter, tokens: number, counted: number) {
  counter.running -= 1
  counter.held -= tokens
  counter.spent += counted
}

/** The next counter among those with waiting calls. At equal cost the earlier one in `all`. */
export function nextOf<T extends TokenCounter>(all: Iterable<T>): T | null {
  let next: T | null = null
  for (const counter of all) if (counter.waiting > 0 && (!next || cost(counter) < cost(next))) next = counter
  return next
}

const isActive = ({ waiting, running }: TokenCounter) => waiting + running > 0
const cost = ({ spent, held }: TokenCounter) => spent + held
