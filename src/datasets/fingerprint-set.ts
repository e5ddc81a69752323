const mostSlots = 2 ** 22
const fullest = 0.75
const digits = 13

/** A set of fingerprints by their first 52 bits, eight bytes each: 32 MB at most. Once full it takes no new ones. */
export function createPrintSet() {
  let slots = new Float64Array(2 ** 10)
  let size = 0

  function slotOf(value: number): number {
    const mask = slots.length - 1
    let slot = value % slots.length
    while (slots[slot] !== 0 && slots[slot] !== value) slot = (slot + 1) & mask
    return slot
  }

  function grow() {
    const old = slots
    slots = new Float64Array(old.length * 2)
    for (const value of old) if (value !== 0) slots[slotOf(value)] = value
  }

  return {
    /** @returns false for one that is in it */
    add(print: string): boolean {
      // Zero marks a free slot.
      const value = Number.parseInt(print.slice(0, digits), 16) + 1
      const slot = slotOf(value)
      if (slots[slot] === value) return false
      if (size >= mostSlots * fullest) return true
      slots[slot] = value
      size++
      if (size > slots.length * fullest && slots.length < mostSlots) grow()
      return true
    },
  }
}
