const maxSlots = 2 ** 22
const maxFill = 0.75
const digits = 13

/** A set of fingerprints, kept by their first 52 bits in at most 32 MB. A full set reports every unknown fingerprint as new. */
export function createFingerprintSet() {
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
    /** @returns false for a fingerprint that the set has */
    add(fingerprint: string): boolean {
      // Zero marks a free slot.
      const value = Number.parseInt(fingerprint.slice(0, digits), 16) + 1
      const slot = slotOf(value)
      if (slots[slot] === value) return false
      if (size >= maxSlots * maxFill) return true
      slots[slot] = value
      size++
      if (size > slots.length * maxFill && slots.length < maxSlots) grow()
      return true
    },
  }
}
