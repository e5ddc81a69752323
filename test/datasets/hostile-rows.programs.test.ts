import assert from 'node:assert/strict'
import { execFileSync } from 'node:child_process'
import { cpSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Readable } from 'node:stream'
import { test } from 'node:test'
import { isProblem, readDatasetRow } from '../../src/datasets/dataset-row.ts'
import { readDataset } from '../../src/datasets/read-dataset.ts'
import { lineOf } from '../../src/datasets/write-rows.ts'
import { root, toolPath } from '../../tools/paths.mjs'

/** Values as a file writes them: JSON text. */
const hostileTexts = [
  ...[String.raw`"cut \ud83e"`, String.raw`"\udd99 cut"`, String.raw`"\ud83e\udd99"`, String.raw`"\\ud83e"`, '"🦙"'],
  ...[
    String.raw`"\u0000"`,
    '"\u2028\u2029\u0085"',
    String.raw`"\r\n\r"`,
    String.raw`"\u0001\u001b\ufeff\ufffe"`,
    '" "',
  ],
  ...[JSON.stringify('</s><|im_end|>{{ "x" }}{% raise %}'), JSON.stringify('a'.repeat(5000)), '"plain"', '"\\\\"'],
]
const hostileValues = [
  ...['null', '""', '[]', '{}', '0', '7', '-0', '1e999', '1e-999', 'true', '[null]', '{"a": {"a": null}}', '[[["x"]]]'],
  ...['9'.repeat(5000), `${'['.repeat(400)}${']'.repeat(400)}`, `${'{"a":'.repeat(2000)}1${'}'.repeat(2000)}`],
  ...[
    '{"a": 1, "a": 2}',
    String.raw`{"\ud83e": 1}`,
    '{"__proto__": {"role": "user"}}',
    '[{"type": "text", "text": "part"}]',
  ],
]
const keys = ['input', 'output', 'instruction', 'context', 'system', 'text', 'history', 'Input ', 'extra', '__proto__']

/** The same numbers in every run. */
function randomOf(seed: number) {
  let state = seed
  const next = (below: number) => {
    state = (Math.imul(state, 1_664_525) + 1_013_904_223) >>> 0
    return Math.floor((state / 2 ** 32) * below)
  }
  return {
    next,
    of: <T>(list: readonly T[]) => list[next(list.length)] as T,
    chance: (oneIn: number) => next(oneIn) === 0,
  }
}

function hostileRows(count: number): string[] {
  const random = randomOf(37)
  const text = () => random.of(hostileTexts)
  const value = () => (random.chance(4) ? random.of(hostileValues) : text())
  const object = (fields: readonly (readonly [string, string])[]): string =>
    `{${fields.map(([key, content]) => `${JSON.stringify(key)}: ${content}`).join(', ')}}`
  const given = () => (random.chance(3) ? `{"a": ${value()}}` : random.of(['{}', '[]', '', '{"a": 1}', value()]))
  const call = () =>
    object([
      ['id', random.chance(5) ? value() : '"c1"'],
      ['type', '"function"'],
      [
        'function',
        object([
          ['name', '"f"'],
          ['arguments', random.chance(6) ? value() : JSON.stringify(given())],
        ]),
      ],
    ])
  const said = () =>
    random.of([
      () =>
        object([
          ['role', '"user"'],
          ['content', value()],
        ]),
      () =>
        object([
          ['role', '"assistant"'],
          ['content', value()],
          ['weight', random.of(['null', '0', '1'])],
        ]),
      () =>
        object([
          ['role', '"assistant"'],
          ['content', value()],
          ['tool_calls', `[${call()}]`],
        ]),
      () =>
        object([
          ['role', '"tool"'],
          ['tool_call_id', '"c1"'],
          ['name', value()],
          ['content', value()],
        ]),
      () =>
        object([
          ['from', '"human"'],
          ['value', value()],
        ]),
      () =>
        object([
          ['from', '"function_call"'],
          ['value', JSON.stringify(`{"name": "f", "arguments": ${given()}}`)],
        ]),
    ])()
  const answer = () =>
    object([
      ['role', '"assistant"'],
      ['content', text()],
    ])
  const tool = () =>
    object([
      ['type', '"function"'],
      [
        'function',
        object([
          ['name', '"f"'],
          ['parameters', value()],
        ]),
      ],
    ])
  const conversation = () =>
    object([
      [
        random.of(['messages', 'conversations']),
        `[${[
          object([
            ['role', '"user"'],
            ['content', text()],
          ]),
          ...Array.from({ length: random.next(4) }, said),
          answer(),
        ].join(', ')}]`,
      ],
      ['tools', random.chance(2) ? 'null' : `[${tool()}]`],
      ['system', random.chance(3) ? value() : 'null'],
    ])
  const pair = () =>
    object([['input', text()], ['output', text()], ...(random.chance(2) ? [[random.of(keys), value()] as const] : [])])
  const loose = () => object(Array.from({ length: 1 + random.next(4) }, () => [random.of(keys), value()] as const))
  return Array.from({ length: count }, () => random.of([conversation, conversation, pair, loose])())
}

const program = `import json, sys
from pathlib import Path
from transformers import AutoTokenizer
from anneal_runtime.tokenization import TextEncoder
from anneal_runtime.trainer.failures import DataError
from anneal_runtime.trainer.rows import encode_rows

failures, read = [], 0
for folder in sys.argv[2:]:
    encoder = TextEncoder(AutoTokenizer.from_pretrained(folder))
    path = Path(folder) / "rows.jsonl"
    for line in Path(sys.argv[1]).read_bytes().split(b"\\n"):
        path.write_bytes(line + b"\\n")
        try:
            encode_rows(path, encoder, 256)
            read += 1
        except DataError as error:
            # White space may have no token to learn, and the data may be too long for its answer.
            if "has an output token to learn" not in str(error):
                failures.append([repr(error)[:300], line[:300].decode(errors="replace")])
        except BaseException as error:
            failures.append([repr(error)[:300], line[:300].decode(errors="replace")])
print(json.dumps({"failures": failures[:5], "read": read}))`

/** One that knows tools, so that calls are objects for the template, and one that does not. */
const templates = [
  `{% for message in messages %}{{ '<|im_start|>' + message['role'] + '\\n' + message['content'] + '<|im_end|>\\n' }}{% endfor %}<|im_start|>assistant\\n`,
  `{% if tools %}{{ tools | tojson }}{% endif %}{% for message in messages %}{{ message.role }}: {{ message.content }}{% for call in message.tool_calls or [] %}<tool_call>{{ call.function | tojson }}{{ call.function.arguments }}{% endfor %}{% endfor %}assistant:`,
]

test('the trainer reads and encodes every row that the check accepts', async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-test-'))
  t.after(() => rmSync(dir, { recursive: true }))
  const file = hostileRows(3000).map((row) => Buffer.from(`${row}\n`))
  const raws = (await Array.fromAsync(readDataset(Readable.from(file)))).flat()
  const rows = raws.map((raw) => ('value' in raw ? readDatasetRow(raw.value) : { field: 'row', reason: raw.problem }))
  const accepted = rows.flatMap((row) => (isProblem(row) ? [] : [row]))
  const lines = join(dir, 'lines')
  writeFileSync(lines, accepted.map(lineOf).join('\n'))
  // Neither half is empty, or the test would show nothing.
  assert.ok(accepted.length > 400 && rows.length - accepted.length > 400, `${accepted.length} of ${rows.length}`)
  const folders = templates.map((template, index) => {
    const folder = join(dir, String(index))
    cpSync(`${root}/models/anneal-tiny`, folder, { recursive: true, filter: (path) => !path.endsWith('.safetensors') })
    writeFileSync(join(folder, 'chat_template.jinja'), template)
    return folder
  })
  const env = { ...process.env, TRANSFORMERS_VERBOSITY: 'error', PYTHONPATH: `${root}/runtime` }
  const answer = execFileSync(toolPath('python'), ['-c', program, lines, ...folders], { env }).toString()
  const { failures, read } = JSON.parse(answer) as { failures: unknown[]; read: number }
  assert.deepEqual(failures, [])
  assert.ok(read > accepted.length)
})
