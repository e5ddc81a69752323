// Matches a pattern in time that is linear in the text: a backtracking match of a user's pattern could hold the process.
import { BadPattern, type CharacterSet, type Pattern } from './pattern.ts'
import { mostSteps, spend, type Steps } from './steps.ts'

/** Each state either reads a character and goes on, or goes on to several states at once. The last state accepts. */
type State = { set: CharacterSet; next: number } | { skips: number[] }
export type Automaton = { states: readonly State[]; start: number; end: number }

const maxStates = 4000
/** Steps for each state of an automaton: more than its time, because a state also takes 70 bytes. */
const stepsOfState = 10

/** @throws BadPattern when the pattern is too large, TooMuchWork */
export function automatonOf(pattern: Pattern, work: Steps = { left: mostSteps.read }): Automaton {
  const states: State[] = [{ skips: [] }]
  const add = (state: State) => {
    if (states.length >= maxStates) throw new BadPattern('is too large: use fewer or smaller repetitions.')
    spend(work, stepsOfState)
    return states.push(state) - 1
  }
  // A part that reads nothing adds no state, so the calls are counted as well.
  let calls = 0
  /** @returns the state that reads `part` and then goes on to `next` */
  function before(part: Pattern, next: number): number {
    spend(work, 1)
    if (++calls > 4 * maxStates) throw new BadPattern('is too large: use fewer or smaller repetitions.')
    switch (part.kind) {
      case 'set':
        return add({ set: part.set, next })
      case 'sequence':
        return part.parts.reduceRight((then, each) => before(each, then), next)
      case 'choice':
        return add({ skips: part.parts.map((each) => before(each, next)) })
      case 'repeat': {
        let then = next
        if (part.max === Infinity) {
          const skips = [next]
          then = add({ skips })
          skips.push(before(part.part, then))
        } else {
          for (let count = part.min; count < part.max; count++) then = add({ skips: [next, before(part.part, then)] })
        }
        for (let count = 0; count < part.min; count++) then = before(part.part, then)
        return then
      }
    }
  }
  return { start: before(pattern, 0), states, end: 0 }
}

/** @throws TooMuchWork */
export function matches(automaton: Automaton, text: string, work: Steps = { left: mostSteps.read }): boolean {
  const walk = createWalk(automaton, work)
  for (const character of text) {
    const point = character.codePointAt(0) as number
    if (!walk.step((set) => holds(set, point))) return false
  }
  return walk.isAtEnd()
}

/**
 * @returns the shortest length from `minimum` on that all the automata accept some text of, or null
 * @throws TooMuchWork
 */
export function shortestLength(
  automata: readonly Automaton[],
  { minimum, maximum, work }: { minimum: number; maximum: number; work: Steps },
): number | null {
  if (automata.length === 0) return minimum <= maximum ? minimum : null
  const walks = automata.map((each) => createWalk(each, work))
  // Lengths repeat after as many characters as there are states.
  const last = Math.min(maximum, minimum + Math.max(...automata.map(({ states }) => states.length)))
  for (let length = 0; length <= last; length++) {
    if (length >= minimum && walks.every((walk) => walk.isAtEnd())) return length
    spend(work, 1)
    for (const walk of walks) walk.step((set) => set.length > 0)
  }
  return null
}

/** All states that a text may have led to, character by character. */
function createWalk({ states, start, end }: Automaton, work: Steps) {
  // The number of the last round that reached each state: cheaper than a set of states for each character.
  const reachedIn = new Uint32Array(states.length)
  let round = 0
  let current: number[] = []

  function reach(waiting: number[]) {
    round++
    current = []
    for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
      if (reachedIn[at] === round) continue
      reachedIn[at] = round
      current.push(at)
      const state = states[at] as State
      if ('skips' in state) waiting.push(...state.skips)
    }
    spend(work, current.length)
  }

  spend(work, states.length / 16)
  reach([start])
  return {
    /** @returns whether any text may go on from here */
    step(reads: (set: CharacterSet) => boolean): boolean {
      const next: number[] = []
      for (const at of current) {
        const state = states[at] as State
        if ('set' in state && reads(state.set)) next.push(state.next)
      }
      reach(next)
      return current.length > 0
    },
    isAtEnd: () => reachedIn[end] === round,
  }
}

/** Halves the ranges, which ascend: a class may have thousands. */
function holds(set: CharacterSet, point: number): boolean {
  let [low, high] = [0, set.length - 1]
  while (low <= high) {
    const middle = (low + high) >> 1
    const [from, to] = set[middle] as readonly [number, number]
    if (point < from) high = middle - 1
    else if (point > to) low = middle + 1
    else return true
  }
  return false
}
