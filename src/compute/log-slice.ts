// Cuts slices of a log, never within a character.

export const defaultLimitBytes = 256 * 1024

export function startOffset(offsetBytes: number, sizeBytes: number): number {
  return offsetBytes < 0 ? Math.max(0, sizeBytes + offsetBytes) : Math.min(offsetBytes, sizeBytes)
}

/** Skips the rest of a character in which the tail begins. */
export function characterStart(bytes: Buffer): number {
  let start = 0
  while (start < Math.min(3, bytes.length) && isContinuation(bytes[start])) start++
  return start
}

/** The length without a character that the limit cuts. Never 0, so that a reader makes progress. */
export function wholeCharacters(bytes: Buffer, length: number): number {
  let last = length - 1
  while (last > 0 && length - last < 4 && isContinuation(bytes[last])) last--
  const lead = bytes[last] ?? 0
  const size = lead >= 0xf0 ? 4 : lead >= 0xe0 ? 3 : lead >= 0xc0 ? 2 : 1
  return size > length - last && last > 0 ? last : length
}

function isContinuation(byte: number | undefined): boolean {
  return byte !== undefined && (byte & 0xc0) === 0x80
}
