// Measures the length of rows in tokens on a sample, with the tokenizer of a base model.
import { Tokenizer } from '@huggingface/tokenizers'
import { readFileSync, statSync } from 'node:fs'
import { join } from 'node:path'
import type { TokenBucket, TokenLengths } from '../domain/dataset-report.ts'
import type { DatasetRow } from './dataset-row.ts'
import { createLengthHistogram } from './length-histogram.ts'
import { createSpecialTokens, type SpecialTokens } from './special-tokens.ts'

/** The folder of a model, with its tokenizer.json. */
export type TokenizerSource = { name: string; folder: string }
/** Of the base models whose files may be on this machine. */
export type Tokenizers = readonly TokenizerSource[]

export const tokenizerOf = (tokenizers: Tokenizers, model: string): TokenizerSource | null =>
  tokenizers.find(({ name }) => name === model) ?? null

const maxRows = 1000
/** Counting this much takes half a second, which a job waits for. */
const maxCharacters = 500_000
/** A longer row would take longer than all others together. */
const maxRowCharacters = 200_000

/** Keeps every n-th row. n doubles whenever the sample is full, so the sample covers the whole file. */
export function createTokenSample() {
  let rows: DatasetRow[] = []
  let characters = 0
  let stride = 1
  let seen = 0

  function thin() {
    rows = rows.filter((_, index) => index % 2 === 0)
    characters = rows.reduce((total, row) => total + sizeOf(row), 0)
    stride *= 2
  }

  return {
    add(row: DatasetRow) {
      if (sizeOf(row) > maxRowCharacters) return
      if (seen++ % stride !== 0) return
      rows.push(row)
      characters += sizeOf(row)
      if (rows.length > maxRows || characters > maxCharacters) thin()
    },

    /** @param rowCount good rows of the whole file. @returns null when this machine has no tokenizer, or the sample no rows */
    measure(source: TokenizerSource | null, rowCount: number): TokenLengths | null {
      const loaded = source && rows.length > 0 ? loadTokenizer(source) : null
      if (!source || !loaded) return null
      const [input, output] = [createLengthHistogram(), createLengthHistogram()]
      const learned = { answers: 0, lastAnswer: 0 }
      let total = 0
      const count = (text: string) => loaded.encode(text).length
      const { swapped } = loaded.specialTokens
      const lengths = rows.map((row) => {
        // A pair's input may be written by a template. All other text is text.
        const [inputTokens, outputTokens] = [
          count(row.conversation ? row.input : swapped(row.input)),
          count(row.output),
        ]
        input.add(inputTokens)
        output.add(outputTokens)
        // Each answer ends in a token of its own. A prompt for reinforcement has none.
        const answers = (row.item ? [] : (learnedTexts(row) ?? [row.output])).map(count)
        learned.lastAnswer += row.item ? 0 : outputTokens + 1
        learned.answers += answers.reduce((sum, tokens) => sum + tokens + 1, 0)
        // Every answer that is compared is read after the prompt.
        if (!row.answers) total += inputTokens + outputTokens
        else for (const tokens of answers) total += inputTokens + tokens
        return inputTokens + (row.answers ? Math.max(...answers) : outputTokens)
      })
      const ofAll = (inSample: number) => Math.round((inSample / rows.length) * rowCount)
      return {
        tokenizer: source.name,
        sampledRows: rows.length,
        input: input.percentiles(),
        output: output.percentiles(),
        estimatedTotal: ofAll(total),
        estimatedLearned: { answers: ofAll(learned.answers), lastAnswer: ofAll(learned.lastAnswer) },
        histogram: bucketsOf(lengths),
      }
    },
  }
}

/** The answers of a row that has several, each of which ends in a token of its own; null for a row with one. */
function learnedTexts({ conversation, answers }: DatasetRow): string[] | null {
  if (answers) return answers.list.map(({ said }) => (typeof said === 'string' ? said : said.content))
  return conversation ? conversation.learned.map((position) => conversation.messages[position]?.content ?? '') : null
}

const bucketCount = 16

/** Buckets of one width, up to the longest row. */
function bucketsOf(lengths: readonly number[]): TokenBucket[] {
  const width = Math.max(1, Math.ceil(Math.max(...lengths) / bucketCount))
  const buckets = Array.from({ length: bucketCount }, (_, index) => ({ upTo: (index + 1) * width, rows: 0 }))
  for (const length of lengths) {
    const bucket = buckets[Math.max(0, Math.ceil(length / width) - 1)]
    if (bucket) bucket.rows++
  }
  return buckets
}

const sizeOf = ({ input, output }: DatasetRow) => input.length + output.length

/** `encode`: the ids of a text's tokens. The special tokens that act in the text have their secret names. */
export type LoadedTokenizer = {
  encode: (text: string) => number[]
  specialTokens: SpecialTokens
  config: Record<string, unknown>
  /** Empty when the model has none. */
  chatTemplate: string
}

/** Kept because building a tokenizer of 150,000 tokens takes a second. Freed when the idle thread ends. */
let built: { path: string; changedMs: number; loaded: LoadedTokenizer } | null = null

/** @returns null when the folder has no tokenizer */
export function loadTokenizer({ folder }: TokenizerSource): LoadedTokenizer | null {
  const path = join(folder, 'tokenizer.json')
  const changedMs = statSync(path, { throwIfNoEntry: false })?.mtimeMs
  if (changedMs === undefined) return null
  if (built?.path !== path || built.changedMs !== changedMs) built = { path, changedMs, loaded: readTokenizer(folder) }
  return built.loaded
}

function readTokenizer(folder: string): LoadedTokenizer {
  const read = (name: string) => JSON.parse(readFileSync(join(folder, name), 'utf8')) as Record<string, unknown>
  const config = read('tokenizer_config.json')
  const templatePath = join(folder, 'chat_template.jinja')
  const isThere = statSync(templatePath, { throwIfNoEntry: false }) !== undefined
  const template = isThere ? readFileSync(templatePath, 'utf8') : config['chat_template']
  const chatTemplate = typeof template === 'string' ? template : ''
  const specialTokens = createSpecialTokens({ tokenizer: read('tokenizer.json'), config, template: chatTemplate })
  const tokenizer = new Tokenizer(specialTokens.renamed(), config)
  const encode = (text: string) => tokenizer.encode(text, { add_special_tokens: false }).ids
  return { encode, specialTokens, config, chatTemplate }
}
