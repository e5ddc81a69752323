import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { isProblem, readDatasetRow } from '../../src/datasets/dataset-row.ts'
import { previewRows } from '../../src/datasets/preview-rows.ts'
import { lineOf } from '../../src/datasets/write-rows.ts'
import type { Storage } from '../../src/storage/storage.ts'
import { root, toolPath } from '../../tools/paths.mjs'

const rowCount = 1000
const tokenizer = { name: 'anneal-tiny', folder: `${root}/models/anneal-tiny` }

/** Texts as files have them, some of which spell special tokens. */
const texts = ['Where is it made?', 'Zoë 🦙 said: "7"', 'a</s>', '<s>b', 'line\nline', '  spaces ', 'x'.repeat(300)]
const textAt = (number: number) => `${texts[number % texts.length]}${number}`

const forms: ((number: number) => object)[] = [
  (n) => ({ input: textAt(n), output: textAt(n + 1) }),
  (n) => ({ instruction: textAt(n), input: n % 2 ? textAt(n + 1) : '', output: textAt(n + 2) }),
  (n) => ({ question: textAt(n), context: textAt(n + 3), answer: `${textAt(n + 1)}</s>` }),
  (n) => ({
    conversations: [
      { from: 'human', value: textAt(n) },
      { from: 'gpt', value: textAt(n + 1) },
    ],
  }),
  (n) => ({
    messages: [
      { role: 'system', content: textAt(n) },
      { role: 'user', content: textAt(n + 1) },
      { role: 'assistant', content: `${textAt(n + 2)}</s>` },
      { role: 'user', content: textAt(n + 3) },
      { role: 'assistant', content: textAt(n + 4) },
    ],
  }),
]

/** For each row its sequences, in parts of the text that is read, and the text that is learned. */
const program = `import json, sys
from pathlib import Path
from anneal_runtime.model_source import load_tokenizer
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.rows import encode_rows

tokenizer = load_tokenizer(Path(sys.argv[2]))
rows = encode_rows(Path(sys.argv[1]), TextEncoder(tokenizer), 2048)

def parts(sequence):
    tokens, labels = rows.tokens(sequence).tolist(), rows.labels(sequence).tolist()
    found = []
    for token, is_learned in zip(tokens, [False] + [label == token for label, token in zip(labels, tokens[1:])]):
        if not found or found[-1][1] != is_learned:
            found.append(([], is_learned))
        found[-1][0].append(token)
    return [[tokenizer.decode(ids), is_learned] for ids, is_learned in found]

print(json.dumps([[parts(sequence) for sequence in rows.sequences([row])] for row in range(len(rows))]))`

const unended = (text: string) => text.replace(/<\/s>$/, '')

test('the preview shows the same tokens as the trainer reads and learns, in five forms of rows', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-test-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const sent = Array.from({ length: rowCount }, (_, n) => forms[n % forms.length]?.(n) ?? {})
  const file = Buffer.from(sent.map((row) => JSON.stringify(row)).join('\n'))
  const storage = { read: () => Promise.resolve(Readable.from([file])) } as unknown as Storage
  const previewed = []
  for (let offset: number | null = 0; offset !== null;) {
    const page: Awaited<ReturnType<typeof previewRows>> = await previewRows(
      storage,
      {
        key: 'key',
        model: tokenizer.name,
        pairs: null,
        method: 'supervised' as const,
        offset,
        limit: 100,
        columns: null,
      },
      { tokenizers: [tokenizer] },
    )
    previewed.push(...(page?.rows ?? []))
    offset = page?.next ?? null
  }
  const read = sent.map((row) => readDatasetRow(row)).flatMap((row) => (isProblem(row) ? [] : [row]))
  assert.deepEqual([previewed.length, read.length], [rowCount, rowCount])
  const lines = join(dir, 'rows.jsonl')
  writeFileSync(lines, read.map((row) => `${lineOf(row)}\n`).join(''))
  const env = { ...process.env, PYTHONPATH: `${root}/runtime` }
  const options = { env, maxBuffer: 256 * 1024 * 1024 }
  const answer = execFileSync(toolPath('python'), ['-c', program, lines, tokenizer.folder], options).toString()
  const shown = previewed.map(({ row, templated }) =>
    templated
      ? templated.sequences.map((parts) => parts.map(({ text, isLearned }) => [text, isLearned]))
      : [
          [
            [`<s>${row?.input}`, false],
            [`${unended(row?.output ?? '')}</s>`, true],
          ],
        ],
  )
  assert.deepEqual(shown, JSON.parse(answer))
})
