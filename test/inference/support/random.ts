/** Numbers that look random and are the same each time: a failing seed can be run again. */
export function createRandom(seed: number) {
  let state = seed >>> 0
  /** In [0, 1). mulberry32 */
  function fraction() {
    state = (state + 0x6d2b79f5) >>> 0
    let mixed = Math.imul(state ^ (state >>> 15), state | 1)
    mixed = (mixed + Math.imul(mixed ^ (mixed >>> 7), mixed | 61)) ^ mixed
    return ((mixed ^ (mixed >>> 14)) >>> 0) / 2 ** 32
  }
  const below = (count: number) => Math.floor(fraction() * count)
  return {
    fraction,
    /** 0 to count - 1 */
    below,
    pick: <T>(items: readonly T[]): T => items[below(items.length)] as T,
    list: <T>(count: number, make: (index: number) => T): T[] => Array.from({ length: count }, (_, at) => make(at)),
  }
}

export type Random = ReturnType<typeof createRandom>
