// BLEU and chrF of one answer. Multiplied by 100 they equal sentence_bleu and sentence_chrf of sacrebleu with its defaults.
import { counted, overlap, total, wordsOf } from './words.ts'

const maxBleuOrder = 4
const maxCharacterOrder = 6
/** How much more recall counts than precision, squared. */
const recallWeight = 4

/** Smoothed exponentially; orders that the answer is too short for do not count. */
export function bleu(output: string, expected: string): number {
  const [found, wanted] = [tokens13a(output), tokens13a(expected)]
  let [logSum, order, smoothing, isHit] = [0, 0, 1, false]
  for (let n = 1; n <= Math.min(maxBleuOrder, found.length); n++) {
    const correct = overlap(wordGrams(found, n), wordGrams(wanted, n))
    if (correct > 0) isHit = true
    else smoothing *= 2
    logSum += Math.log((correct > 0 ? correct : 1 / smoothing) / (found.length - n + 1))
    order = n
  }
  if (!isHit) return 0
  const brevityPenalty = found.length < wanted.length ? Math.exp(1 - wanted.length / found.length) : 1
  return brevityPenalty * Math.exp(logSum / order)
}

/** GLEU of one answer as NLTK computes it, over words and groups of up to four. */
export function gleu(output: string, expected: string): number {
  const [found, wanted] = [wordsOf(output), wordsOf(expected)]
  let [common, ours, theirs] = [0, 0, 0]
  for (let n = 1; n <= maxBleuOrder; n++) {
    const [foundGrams, wantedGrams] = [wordGrams(found, n), wordGrams(wanted, n)]
    common += overlap(foundGrams, wantedGrams)
    ours += total(foundGrams)
    theirs += total(wantedGrams)
  }
  const most = Math.max(ours, theirs)
  return most === 0 ? 0 : common / most
}

export function chrf(output: string, expected: string): number {
  const [found, wanted] = [characters(output), characters(expected)]
  const orders = Math.min(maxCharacterOrder, found.length, wanted.length)
  if (orders === 0) return 0
  let [precision, recall] = [0, 0]
  for (let n = 1; n <= orders; n++) {
    const [ours, theirs] = [counted(grams(found, n, '')), counted(grams(wanted, n, ''))]
    const correct = overlap(ours, theirs)
    precision += correct / total(ours) / orders
    recall += correct / total(theirs) / orders
  }
  if (precision + recall === 0) return 0
  return ((1 + recallWeight) * precision * recall) / (recallWeight * precision + recall)
}

const wordGrams = (words: readonly string[], n: number) => counted(grams(words, n, ' '))

function* grams(items: readonly string[], n: number, separator: string) {
  for (let start = 0; start + n <= items.length; start++) yield items.slice(start, start + n).join(separator)
}

const characters = (text: string): string[] => Array.from(wordsOf(text).join(''))

const entities = { '&quot;': '"', '&amp;': '&', '&lt;': '<', '&gt;': '>' }

/** The tokens of WMT's mteval-v13a. */
function tokens13a(text: string): string[] {
  let line = text.trimEnd().replaceAll('<skipped>', '').replaceAll('-\n', '').replaceAll('\n', ' ')
  for (const [entity, character] of Object.entries(entities)) line = line.replaceAll(entity, character)
  const parted = ` ${line} `
    .replace(/([{-~[-` -&(-+:-@/])/g, ' $1 ')
    .replace(/([^0-9])([.,])/gu, '$1 $2 ')
    .replace(/([.,])([^0-9])/gu, ' $1 $2')
    .replace(/([0-9])(-)/g, '$1 $2 ')
  return wordsOf(parted)
}
