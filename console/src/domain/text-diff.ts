// Marks the words in which two answers differ.

export type Piece = { text: string; isSame: boolean }

/** More words than this are compared by their common beginning and end only. */
const maxWords = 400

/** The pieces of `text`, with those that also stand in `other`, in this order, marked as the same. */
export function difference(text: string, other: string): Piece[] {
  const [mine, theirs] = [wordsOf(text), wordsOf(other)]
  let start = 0
  while (start < mine.length && start < theirs.length && mine[start] === theirs[start]) start++
  let end = 0
  while (
    end < mine.length - start &&
    end < theirs.length - start &&
    mine[mine.length - 1 - end] === theirs[theirs.length - 1 - end]
  )
    end++
  const middle = mine.slice(start, mine.length - end)
  const kept = commonWords(middle, theirs.slice(start, theirs.length - end))
  const same = mine.map((_, index) => index < start || index >= mine.length - end || kept.has(index - start))
  return joined(mine, same)
}

const wordsOf = (text: string) => text.match(/\s+|[\p{L}\p{N}_]+|[^\s\p{L}\p{N}_]/gu) ?? []

/** The places of a longest common subsequence in `mine`. */
function commonWords(mine: readonly string[], theirs: readonly string[]): Set<number> {
  const found = new Set<number>()
  if (mine.length === 0 || theirs.length === 0 || mine.length > maxWords || theirs.length > maxWords) return found
  const width = theirs.length + 1
  const lengths = new Uint16Array((mine.length + 1) * width)
  const at = (i: number, j: number) => lengths[i * width + j] ?? 0
  for (let i = mine.length - 1; i >= 0; i--)
    for (let j = theirs.length - 1; j >= 0; j--)
      lengths[i * width + j] = mine[i] === theirs[j] ? at(i + 1, j + 1) + 1 : Math.max(at(i + 1, j), at(i, j + 1))
  for (let i = 0, j = 0; i < mine.length && j < theirs.length;) {
    if (mine[i] === theirs[j]) {
      found.add(i)
      i++
      j++
    } else if (at(i + 1, j) >= at(i, j + 1)) i++
    else j++
  }
  return found
}

function joined(words: readonly string[], same: readonly boolean[]): Piece[] {
  const pieces: Piece[] = []
  for (const [index, word] of words.entries()) {
    const isSame = same[index] ?? false
    const last = pieces.at(-1)
    if (last?.isSame === isSame) last.text += word
    else pieces.push({ text: word, isSame })
  }
  return pieces
}
