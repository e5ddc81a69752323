// Schemathesis makes requests of every kind from the OpenAPI document, right and wrong ones, and judges the answers:
// no 5xx, no status, type or field that the document does not name. The seed is fixed and the number of requests bounded.
// OpenAI's routes get the made-up requests only: the systematic ones would take as many again as all others together, and
// what lies below them is tried by those.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { clientEnv } from '../../tools/setup/client-env.mjs'
import { sampleFile, sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { patienceMs } from '../support/eventually.ts'

const checks = [
  'not_a_server_error',
  'status_code_conformance',
  'content_type_conformance',
  'response_headers_conformance',
  'response_schema_conformance',
]
const bounds = `seed = 20261121
[generation]
max-examples = 5
[phases]
examples.enabled = false
stateful.enabled = false
[[operations]]
include-path-regex = "^/openai/"
generation.max-examples = 8
phases.coverage.enabled = false
# Schemathesis takes ids from earlier answers, and so would end its own key.
[[operations]]
include-operation-id = ["revoke_key", "rotate_key"]
enabled = false
`

suite('schemathesis', async () => {
  const api = await openAccount()
  const folder = mkdtempSync(join(tmpdir(), 'anneal-schemathesis-'))
  after(async () => {
    await api.post('/v1/train/jobs/cancel')
    rmSync(folder, { recursive: true, force: true })
  })

  test('finds no answer that the document does not promise', async () => {
    const jobId = await api.train({ data: sampleRows, finetune_args: { max_steps: 1 } })
    const { model_name: tunedModel } = await api.untilStatus(jobId, 'COMPLETED')
    const document = join(folder, 'openapi.json')
    const { id } = await api.post<{ id: string }>('/v1/batch_completions', { model_name: tunedModel, prompt: 'Who?' })
    const fileId = await uploadFile()
    const fine_tuning_job_id = `ftjob-${jobId}`
    const openAi = { model: connection().baseModel, file_id: fileId, training_file: fileId, fine_tuning_job_id }
    const webhook = await api.post<{ id: string }>('/v1/webhooks', { url: 'https://127.0.0.1:9/nobody-there' })
    const own = { job_id: jobId, name: tunedModel, id, webhook_id: webhook.id }
    const known = { ...own, model_name: connection().baseModel, ...openAi }
    writeFileSync(document, JSON.stringify(withKnown(await api.get('/openapi.json'), known)))
    const options = ['--url', connection().apiUrl, '-H', `Authorization: Bearer ${api.apiKey}`, '--no-color']
    const config = join(folder, 'schemathesis.toml')
    writeFileSync(config, bounds)
    const env = await clientEnv(join(root, 'test/clients/requirements-schemathesis.txt'))
    const { exitCode, output } = await run(join(env, 'bin/schemathesis'), [
      ...['--config-file', config, 'run', document, ...options, '--checks', checks.join(',')],
      ...['--generation-database', 'none', '--request-timeout', '120'],
    ])
    assert.equal(exitCode, 0, output)
    const [, generated] = /(\d+) generated, \d+ passed/.exec(output) ?? []
    assert.ok(Number(generated) > 1000, output)
    console.log(`schemathesis: ${generated} requests`)
  })

  async function uploadFile(): Promise<string> {
    const form = new FormData()
    form.set('purpose', 'fine-tune')
    form.set('file', new Blob([sampleFile]), 'rows.jsonl')
    return (await api.post<{ id: string }>('/openai/v1/files', form)).id
  }

  function run(command: string, args: string[]) {
    const child = spawn(command, args, { cwd: folder, timeout: patienceMs, stdio: ['ignore', 'pipe', 'pipe'] })
    let output = ''
    for (const stream of [child.stdout, child.stderr]) stream.on('data', (chunk) => (output += String(chunk)))
    return new Promise<{ exitCode: number | null; output: string }>((resolve, reject) => {
      child.once('error', reject)
      child.once('close', (exitCode) => resolve({ exitCode, output }))
    })
  }
})

/** Names that exist in place of made-up ones, so that the requests come further than to a 404. */
function withKnown(value: unknown, known: Record<string, unknown>): unknown {
  if (Array.isArray(value)) return value.map((each) => withKnown(each, known))
  if (typeof value !== 'object' || value === null) return value
  const { name, in: where } = value as { name?: unknown; in?: unknown }
  if (where === 'path' && typeof name === 'string' && name in known)
    return { ...value, schema: { enum: [known[name]] } }
  return Object.fromEntries(
    Object.entries(value).map(([key, inner]) => [
      key,
      key === 'properties' ? knownIn(inner, known) : withKnown(inner, known),
    ]),
  )
}

function knownIn(properties: Record<string, unknown>, known: Record<string, unknown>) {
  const wanted = ['model_name', 'model', 'training_file'].filter((name) => name in properties)
  const isRequest = ['prompt', 'messages', 'suffix'].some((name) => name in properties)
  const names = isRequest ? wanted.map((name) => [name, { enum: [known[name]] }]) : []
  return { ...(withKnown(properties, known) as object), ...Object.fromEntries(names) }
}
