// Rows as tokens over HTTP, held to what the trainer's own encoder makes of the same rows.
import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { isProblem } from '../../../src/datasets/dataset-row.ts'
import { rowReaderOf } from '../../../src/datasets/row-reader.ts'
import { linesOf } from '../../../src/datasets/write-rows.ts'
import { root, toolPath } from '../../../tools/paths.mjs'
import { createOperator } from '../../support/operator.ts'
import { createApi, openAccount } from '../../support/stack.ts'

type Sequence = {
  role: string
  ids: number[]
  tokens: string[]
  trained_spans: [number, number][]
  replaced: { index: number; id: number }[]
  learned: number
  truncated: boolean
  dropped: boolean
}
type Row = { line: number; sequences: Sequence[] | null; error: { field: string; reason: string } | null }
type Preview = { rows: Row[]; totals: Record<string, number | boolean>; method: unknown; finetune_args: object }

const said = (role: string, content: string, weight?: number) => ({
  role,
  content,
  ...(weight !== undefined && { weight }),
})
const rows = [
  { input: 'Who</s> are you? ', output: 'Me </s>' },
  { text: 'A whole text.' },
  { prompt: 'far '.repeat(200), completion: 'near '.repeat(100) },
  {
    messages: [
      said('user', 'a?'),
      said('assistant', 'no', 0),
      said('user', 'b?'),
      said('assistant', 'yes'),
      said('user', 'c?'),
      said('assistant', 'perhaps'),
    ],
  },
  { input: 'no answer' },
]

const program = `import json, sys
from pathlib import Path
from anneal_runtime.model_source import load_tokenizer
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.rows import encode_rows

asked = json.load(sys.stdin)
path = Path(asked["path"])
path.write_text("".join(line + "\\n" for line in asked["lines"]))
encoder = TextEncoder(load_tokenizer(Path(asked["model"])), special_tokens=False)
rows = encode_rows(path, encoder, asked["max_length"], train_on=asked["train_on"])
print(json.dumps([[[rows.tokens(at).tolist(), rows.labels(at).tolist()] for at in rows.sequences([row])]
    for row in range(len(rows))]))`

suite('a preview of a training', async () => {
  const api = await openAccount()
  const body = {
    model_name: 'anneal-tiny',
    data: rows,
    finetune_args: { max_length: 60, special_tokens: false },
    method: { type: 'supervised', supervised: { hyperparameters: { train_on: 'everything' } } },
  }

  test('shows the tokens and labels of the trainer, and the reason of a bad row', async (t) => {
    const preview = await api.post<Preview>('/v1/train?preview=true', body)
    const read = rowReaderOf(null)
    const lines = rows.flatMap((row) => {
      const found = read(row)
      return isProblem(found) ? [] : linesOf(found)
    })
    const folder = mkdtempSync(join(tmpdir(), 'anneal-preview-'))
    t.after(() => rmSync(folder, { recursive: true }))
    const asked = { lines, model: `${root}/models/anneal-tiny`, path: join(folder, 'rows.jsonl') }
    const input = JSON.stringify({ ...asked, max_length: 60, train_on: 'everything' })
    const env = { ...process.env, PYTHONPATH: `${root}/runtime` }
    const trained = JSON.parse(execFileSync(toolPath('python'), ['-c', program], { input, env }).toString()) as unknown
    assert.deepEqual(
      preview.rows.slice(0, 4).map(({ sequences }) => (sequences ?? []).map(labelled)),
      trained,
    )
    assert.deepEqual(
      [preview.rows[2]?.sequences?.[0]?.truncated, preview.rows[4]],
      [true, { line: 5, sequences: null, error: { field: 'output', reason: 'is missing' } }],
    )
    const { rows: counted, bad, cut, complete } = preview.totals
    assert.deepEqual([counted, bad, cut, complete], [5, 1, 1, true])
    assert.partialDeepStrictEqual(preview, { finetune_args: { max_length: 60 }, method: body.method })
  })

  test('makes no job and no data set', async () => {
    await api.post('/v1/train?preview=true', { ...body, dataset_id: 'previewed' })
    const [jobs, data] = [
      await api.get<unknown[]>('/v1/train/jobs'),
      await api.get<{ datasets: unknown[] }>('/v1/data'),
    ]
    assert.deepEqual([jobs, data.datasets], [[], []])
  })

  test('shows both answers of a pair, and that a row is left out which is too long', async () => {
    const data = [
      { prompt: 'Who? ', chosen: 'Me.', rejected: 'Nobody.' },
      { prompt: 'Who? ', chosen: 'Me.', rejected: 'far '.repeat(100) },
    ]
    const asked = { model_name: 'anneal-tiny', data, method: { type: 'dpo' }, finetune_args: { max_length: 60 } }
    const { rows: shown, totals } = await api.post<Preview>('/v1/train?preview=true', asked)
    assert.deepEqual(
      shown.map(({ sequences }) => sequences?.map(({ role, dropped, learned }) => [role, dropped, learned > 0])),
      [
        [
          ['chosen', false, true],
          ['rejected', false, true],
        ],
        [
          ['chosen', true, false],
          ['rejected', true, false],
        ],
      ],
    )
    assert.equal(totals['dropped'], 1)
  })

  test('the rows of a data set are read for the method that takes them, and shown as tokens when asked', async () => {
    type Page = { method: string; rows: (Row & { answers: object[] | null })[] }
    await api.upload('preferences', '{"prompt": "Who? ", "chosen": "Me.", "rejected": "Nobody."}\n')
    const page = await api.get<Page>('/v1/data/preferences/rows')
    assert.equal(page.method, 'dpo')
    assert.partialDeepStrictEqual(page.rows, [
      {
        error: null,
        sequences: null,
        answers: [
          { text: 'Me.', good: true },
          { text: 'Nobody.', good: false },
        ],
      },
    ])
    assert.partialDeepStrictEqual(await api.get('/v1/data/preferences'), { method: 'dpo', state: 'valid', bad_rows: 0 })
    const asSupervised = await api.get<object>('/v1/data/preferences?method=supervised')
    assert.partialDeepStrictEqual(asSupervised, { method: 'supervised', state: 'invalid', bad_rows: 1 })
    const shown = await api.get<Page>('/v1/data/preferences/rows?tokens=true&model_name=anneal-tiny&method=kto')
    assert.deepEqual(
      shown.rows[0]?.sequences?.map(({ role }) => role),
      ['desirable', 'undesirable'],
    )
  })

  test('a key that may only read sees rows, and starts no model server for their tokens', async () => {
    const account = await createOperator().openAccount()
    const { key } = await account.makeKey(['data', 'read'])
    const reader = createApi(key)
    await reader.upload('rows', '{"input": "Who?", "output": "Me."}\n')
    await reader.get('/v1/data/rows/rows')
    const refused = await reader.request<{ detail: string }>('GET', '/v1/data/rows/rows?tokens=true')
    assert.deepEqual([refused.status, refused.body.detail.includes('"training"')], [401, true])
  })
})

/** Tokens and labels, by what a preview says. */
function labelled({ ids, trained_spans: spans, replaced }: Sequence) {
  const labels = ids.map(() => -100)
  for (const [from, to] of spans) for (let at = from; at < to; at++) labels[at - 1] = ids[at] ?? -1
  for (const { index, id } of replaced) labels[index - 1] = id
  return [ids, labels]
}
