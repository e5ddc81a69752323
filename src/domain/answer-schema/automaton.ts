// Matches a pattern in time that is linear in the text: a backtracking match of a user's pattern could hold the process.
import { BadPattern, type CharacterSet, type Pattern } from './pattern.ts'

/** Each state either reads a character and goes on, or goes on to several states at once. The last state accepts. */
type State = { set: CharacterSet; next: number } | { skips: number[] }
export type Automaton = { states: readonly State[]; start: number; end: number }

const maxStates = 4000

/** Steps that checks of one schema may take together, a fraction of a second. The checks share one, and count it down. */
export type Work = { left: number }
export const newWork = (): Work => ({ left: 1_000_000 })

/** @throws BadPattern when the pattern is too large */
export function automatonOf(pattern: Pattern): Automaton {
  const states: State[] = [{ skips: [] }]
  const add = (state: State) => {
    if (states.length >= maxStates) throw new BadPattern('is too large: use fewer or smaller repetitions.')
    return states.push(state) - 1
  }
  // A part that reads nothing adds no state, so the calls are counted as well.
  let calls = 0
  /** @returns the state that reads `part` and then goes on to `next` */
  function before(part: Pattern, next: number): number {
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

export function matches(automaton: Automaton, text: string): boolean {
  let current = reachable(automaton, [automaton.start])
  for (const character of text) {
    const point = character.codePointAt(0) as number
    current = step(automaton, current, (set) => set.some(([from, to]) => from <= point && point <= to))
    if (current.size === 0) return false
  }
  return current.has(automaton.end)
}

/**
 * @returns the shortest length from `minimum` on that all the automata accept some text of, or null
 * @throws BadPattern when `work` is used up
 */
export function shortestLength(
  automata: readonly Automaton[],
  { minimum, maximum, work }: { minimum: number; maximum: number; work: Work },
): number | null {
  let current = automata.map((each) => reachable(each, [each.start]))
  // Lengths repeat after as many characters as there are states.
  const last = Math.min(maximum, minimum + Math.max(0, ...automata.map(({ states }) => states.length)))
  for (let length = 0; length <= last; length++) {
    for (const { size } of current) work.left -= size
    if (work.left < 0) throw new BadPattern('takes too long together with the lengths: make one of them smaller.')
    if (length >= minimum && automata.every(({ end }, at) => current[at]?.has(end))) return length
    current = automata.map((each, at) => step(each, current[at] as Set<number>, (set) => set.length > 0))
  }
  return null
}

function step(automaton: Automaton, current: ReadonlySet<number>, reads: (set: CharacterSet) => boolean): Set<number> {
  const next: number[] = []
  for (const at of current) {
    const state = automaton.states[at] as State
    if ('set' in state && reads(state.set)) next.push(state.next)
  }
  return reachable(automaton, next)
}

function reachable({ states }: Automaton, from: readonly number[]): Set<number> {
  const found = new Set<number>()
  const waiting = [...from]
  for (let at = waiting.pop(); at !== undefined; at = waiting.pop()) {
    if (found.has(at)) continue
    found.add(at)
    const state = states[at] as State
    if ('skips' in state) waiting.push(...state.skips)
  }
  return found
}
