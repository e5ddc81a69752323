// A merged export gives the same answers in plain transformers, also when its program and the worker are killed in the middle.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createHash } from 'node:crypto'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { toolPath } from '../../tools/paths.mjs'
import { processId } from '../../src/embedded/connection.ts'
import { exportRunName } from '../../src/domain/model-export.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { eventually } from '../support/eventually.ts'
import { livingInGroup, pidOf } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type File = { name: string; url: string; sha256: string; size_bytes: number }
type Export = { id: string; status: string; message: string | null; files: File[] }

const run = promisify(execFile)
const mostTokens = 16
/** Without PEFT and without our package. Weights in float32, as our engine holds them on a CPU. */
const plainTransformers = `
import json, sys, torch
from transformers import AutoModelForCausalLM, AutoTokenizer
folder, questions = sys.argv[1], json.loads(sys.argv[2])
model = AutoModelForCausalLM.from_pretrained(folder, dtype=torch.float32).eval()
tokenizer = AutoTokenizer.from_pretrained(folder)
answers = []
for question in questions:
    tokens = tokenizer(question, return_tensors="pt")["input_ids"]
    answer = model.generate(tokens, max_new_tokens=${mostTokens}, do_sample=False)
    answers.append(tokenizer.decode(answer[0, tokens.shape[1]:], skip_special_tokens=True))
print(json.dumps(answers))
`

suite('a merged export', async () => {
  const api = await openAccount()
  const folder = mkdtempSync(join(tmpdir(), 'anneal-merged-'))
  after(() => rmSync(folder, { recursive: true }))
  const questions = sampleRows.map(({ input }) => input)
  const id = await api.train({ data: sampleRows, custom_model_name: 'merge-me', finetune_args: { max_steps: 60 } })
  const modelName = (await api.untilStatus(id, 'COMPLETED')).model_name ?? assert.fail()

  const request = () => api.post<{ id: string; status: string }>('/v1/models/merge-me/export', { format: 'merged' })
  const find = (exportId: string) => api.get<Export>(`/v1/models/merge-me/exports/${exportId}`)
  const untilMade = (exportId: string) =>
    eventually(async () => {
      const found = await find(exportId)
      assert.notEqual(found.status, 'FAILED', found.message ?? '')
      return found.status === 'COMPLETED' && found
    })
  const hashes = ({ files }: Export) => files.map(({ name, sha256 }) => `${name} ${sha256}`).toSorted()

  async function forget(exportId: string) {
    const database = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    await database.durableWork.remove('export', [exportId])
    await database.close()
  }

  test('gives the same files through kills of its program and of the worker, and the same answers', async () => {
    const calm = await request()
    assert.equal((await request()).id, calm.id)
    const made = await untilMade(calm.id)
    await forget(calm.id)

    const struck = await request()
    assert.notEqual(struck.id, calm.id)
    const first = await eventually(() => pidOf(exportRunName(struck.id, 1)))
    process.kill(-first, 'SIGKILL')
    const second = await eventually(() => pidOf(exportRunName(struck.id, 2)))
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    const result = await untilMade(struck.id)
    assert.deepEqual(hashes(result), hashes(made))
    assert.deepEqual([livingInGroup(first), livingInGroup(second)], [[], []])
    assert.equal(pidOf(exportRunName(struck.id, 3)), null, 'the program outlived the worker and was adopted')

    for (const { name, url, sha256, size_bytes } of result.files) {
      const bytes = Buffer.from(await (await fetch(url)).arrayBuffer())
      assert.deepEqual([createHash('sha256').update(bytes).digest('hex'), bytes.length], [sha256, size_bytes], name)
      writeFileSync(join(folder, name), bytes)
    }
    const { stdout } = await run(toolPath('python'), ['-c', plainTransformers, folder, JSON.stringify(questions)])
    // The card's own code loads these files and answers.
    const [, code = ''] = /```python\n(.*?)```/s.exec(readFileSync(join(folder, 'README.md'), 'utf8')) ?? []
    assert.ok((await run(toolPath('python'), ['-c', code], { cwd: folder })).stdout.trim())
    const served = await api.post<{ output: string }[]>('/v1/completions', {
      model_name: modelName,
      prompt: questions,
      max_tokens: mostTokens,
      temperature: 0,
    })
    const plain = JSON.parse(stdout) as string[]
    assert.equal(plain.length, 40)
    assert.deepEqual(
      plain.map((text) => text.trim()),
      served.map(({ output }) => output.trim()),
    )
  })
})
