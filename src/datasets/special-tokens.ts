// Special tokens under secret names, so that text which spells `</s>` is letters. The trainer does the same, and says why:
// runtime/anneal_runtime/special_tokens.py.
import { randomInt } from 'node:crypto'

type Json = Record<string, unknown>
export type TokenizerFiles = { tokenizer: Json; config: Json; template: string }

/** Characters for private use: no normalizer changes them. Five of them are 63 random bits. */
const firstPrivate = 0xe000
const privateCount = 6400
const secretLength = 5

export type SpecialTokens = ReturnType<typeof createSpecialTokens>

export function createSpecialTokens({ tokenizer, config, template }: TokenizerFiles) {
  const added = (tokenizer['added_tokens'] ?? []) as { content: string; special?: boolean }[]
  const named = new Set(namedIn(config))
  const special = added.filter(({ content, special }) => special || named.has(content)).map(({ content }) => content)
  const spelled = added
    .map(({ content }) => content)
    .filter((content) => content.trim() && !special.includes(content) && template.includes(content))
  const secret = Array.from({ length: secretLength }, () => privateCharacter(randomInt(privateCount))).join('')
  const names = new Map([...special, ...spelled].map((token, index) => [token, secret + numbered(index)]))
  const other = new Map([...names, ...[...names].map(([token, name]) => [name, token] as const)])
  const [all, ofUsers, ofAssistants] = [[...other.keys()], special, spelled].map(patternOf) as [RegExp, RegExp, RegExp]
  const swap = (text: string, pattern: RegExp) => text.replace(pattern, (found) => other.get(found) ?? found)
  const rename = (value: unknown) => (typeof value === 'string' ? (names.get(value) ?? value) : value)

  return {
    /** Spellings become names, and names spellings. */
    swapped: (text: string) => swap(text, all),
    /** A text of a message for the template, whose result is `swapped` to be encoded. */
    hidden: (text: string, { isAssistants }: { isAssistants: boolean }) => swap(text, isAssistants ? ofUsers : all),
    /** A text of the assistant, whose own tokens act. */
    written: (text: string) => swap(text, ofAssistants),
    /** A swapped text as people read it, and where tokens act in it. */
    shown: (swapped: string) => {
      const special: { from: number; to: number }[] = []
      let text = ''
      let at = 0
      for (const { 0: name, index } of swapped.matchAll(all)) {
        const token = spellingOf(name)
        if (token === null) continue
        text += swapped.slice(at, index)
        special.push({ from: text.length, to: text.length + token.length })
        text += token
        at = index + name.length
      }
      return { text: text + swapped.slice(at), special }
    },
    /** The tokenizer's file with the names in place of the spellings. */
    renamed: (): Json => {
      const model = tokenizer['model'] as Json
      const merges = model['merges'] as (string | [string, string])[] | undefined
      return {
        ...tokenizer,
        added_tokens: added.map((token) => ({ ...token, content: rename(token.content) })),
        model: {
          ...model,
          unk_token: rename(model['unk_token']),
          vocab: renamedVocabulary(model['vocab'], rename),
          ...(merges && { merges: merges.filter((merge) => !touches(merge, names)) }),
        },
      }
    },
  }

  function spellingOf(part: string): string | null {
    return part.startsWith(secret) ? (other.get(part) ?? null) : null
  }
}

/** Pieces with scores, or ids by token. */
function renamedVocabulary(vocabulary: unknown, rename: (token: unknown) => unknown): unknown {
  if (Array.isArray(vocabulary)) return vocabulary.map(([token, ...rest]: unknown[]) => [rename(token), ...rest])
  return Object.fromEntries(Object.entries(vocabulary as Json).map(([token, id]) => [rename(token), id]))
}

/** A merge that makes a token, or is made of one, would bring its letters back to it. */
function touches(merge: string | [string, string], names: ReadonlyMap<string, string>): boolean {
  const [left = '', right = ''] = typeof merge === 'string' ? merge.split(' ') : merge
  return names.has(left) || names.has(right) || names.has(left + right)
}

/** The special tokens that tokenizer_config.json names. */
const namedIn = (config: Json): string[] =>
  ['bos_token', 'eos_token', 'pad_token', 'unk_token', 'sep_token', 'cls_token', 'mask_token']
    .map((key) => tokenText(config[key]))
    .concat(((config['additional_special_tokens'] ?? config['extra_special_tokens'] ?? []) as unknown[]).map(tokenText))
    .filter(Boolean)

/** Some models write a token as an object. */
export function tokenText(value: unknown): string {
  if (typeof value === 'string') return value
  return value && typeof value === 'object' && 'content' in value ? String(value.content) : ''
}

const privateCharacter = (number: number) => String.fromCodePoint(firstPrivate + number)

const numbered = (index: number) =>
  privateCharacter(Math.floor(index / privateCount)) + privateCharacter(index % privateCount)

/** Finds the longest of the words. */
function patternOf(words: readonly string[]): RegExp {
  const escaped = words
    .toSorted((a, b) => b.length - a.length)
    .map((word) => word.replaceAll(/[\\^$.*+?()[\]{}|/]/g, '\\$&'))
  return new RegExp(words.length > 0 ? escaped.join('|') : '(?!)', 'gu')
}
