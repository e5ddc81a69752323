// An account imports records that it has written itself: nothing in them breaks a page of the job, and what fails leaves nothing.
import assert from 'node:assert/strict'
import { before, suite, test } from 'node:test'
import { sha256Hex } from '../../src/domain/identifiers.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { sampleFile } from '../support/rows.ts'
import { connection, openAccount, type Api } from '../support/stack.ts'

type Bytes = Uint8Array<ArrayBuffer>
type Line = Record<string, unknown> & { type: string }
type File = { name: string; size: number; sha256: string }
type Imported = { state: string; job_id: number; model_name: string | null; detail?: string }
type Change = { job?: object; spec?: object; others?: (lines: Line[]) => Line[]; hasModel?: boolean }

const grader = {
  ...{ type: 'string_check', name: 'same', operation: 'eq' },
  ...{ input: '{{sample.output_text}}', reference: '{{item.x.y[3]}}' },
}
const most = 2 ** 53 - 1
const huge = { rows: most, tokens: most, learned: most, cut: 0, dropped: 0, withoutEnd: 0, isWhole: false }
const item: unknown = JSON.parse(
  String.raw`{"__proto__": 1, "constructor": {"a": [1e308, 5e-324, -0]}, "\uffff": "\u2028"}`,
)
const sample = { finish_reason: 'stop', output_tools: [1, null] }

const change = (type: string, more: object) => (same: Line[]) =>
  same.map((line) => (line.type === type ? { ...line, ...more } : line))

const pathsOf = ({ job_id: id, model_name: model }: Imported) => [
  ...['', '/events', '/metrics', '/eval', '/attempts', '/rollouts', '/logs', '/record', '/skipped-rows'].map(
    (part) => `/v1/train/jobs/${id}${part}`,
  ),
  ...['', '/events', '/checkpoints'].map((part) => `/openai/v1/fine_tuning/jobs/ftjob-${id}${part}`),
  ...['/v1/train/jobs', '/v1/train/jobs/briefs', '/openai/v1/fine_tuning/jobs', '/v1/models', '/v1/usage/training'],
  ...(model === null ? [] : [`/v1/models/${model}`, `/v1/models/${model}/download`]),
]

suite('records that an account has written itself', () => {
  let other: Api
  let lines: Line[]
  let files: File[]
  const adapter = new Map<string, Bytes>()
  let jobId = 0

  before(async () => {
    const owner = await openAccount()
    other = await openAccount()
    await owner.upload('products', sampleFile)
    const run = { max_steps: 4, batch_size: 4, eval_steps: 2 }
    const id = await owner.train({ dataset_id: 'products', custom_model_name: 'pip', finetune_args: run })
    const { model_name: name } = await owner.untilStatus(id, 'COMPLETED')
    const record = await owner.get<string>(`/v1/train/jobs/${id}/record`)
    lines = record
      .trim()
      .split('\n')
      .map((line) => JSON.parse(line) as Line)
    const model = lines[0]?.['model'] as { files: { name: string; sizeBytes: number; sha256: string }[] }
    files = model.files.map(({ sizeBytes: size, ...file }) => ({ ...file, size }))
    const { files: links } = await owner.get<{ files: { name: string; url: string }[] }>(`/v1/models/${name}/download`)
    for (const { name: file, url } of links) adapter.set(file, new Uint8Array(await (await fetch(url)).arrayBuffer()))
  })

  async function send(api: Api, bytes: Bytes) {
    await api.upload(`import-${sha256Hex(bytes)}`, bytes)
    return { size: bytes.length, sha256: sha256Hex(bytes) }
  }

  /** Uploads the record of the job under a new number, with changes. @returns the request that imports it */
  async function stage({ job = {}, spec = {}, others = (same) => same, hasModel = true }: Change, api = other) {
    const [first = assert.fail('no line'), ...rest] = lines
    jobId += 1
    const none = hasModel ? {} : { model: null, status: 'FAILED' }
    const head = { ...first, jobId, ...none, ...job, spec: { ...(first['spec'] as object), ...spec } }
    const text = [head, ...others(rest)].map((line) => JSON.stringify(line)).join('\n')
    const record = await send(api, new TextEncoder().encode(text))
    const sent = hasModel ? files : []
    for (const { name } of sent) await send(api, adapter.get(name) ?? assert.fail(name))
    const { installation } = first
    return { installation, job_id: jobId, base_model: connection().baseModel, record, files: sent }
  }
  const bring = async (each: Change, api = other) =>
    await api.request<Imported>('POST', '/v1/imports/jobs', await stage(each, api))

  test('breaks no page of the job, whatever the record may hold', async () => {
    const changes: Change[] = [
      { hasModel: false },
      { job: { customModelName: '../@x/%00', statusReason: 'constructor', currentAttempt: 1e6, preparedData: null } },
      { job: { createdAt: '2026-11-01T00:00:00.000Z', finishedAt: '2001-01-01T00:00:00.000Z' } },
      { others: change('attempt', { rowCounts: huge, cause: '__proto__', message: null, phase: null }) },
      { others: change('step', { loss: 1e308, flops: -1e308, epoch: -5e-324, tokens: 2 ** 53 - 1 }) },
      { others: () => [] },
      {
        spec: { method: { type: 'reinforcement', hyperparameters: {}, given: ['x'], task: { grader } } },
        others: change('evaluation', { item, samples: { tuned: sample, base: sample } }),
      },
    ]
    for (const each of changes) {
      const { status, body } = await bring(each)
      assert.equal(status, 200, body.detail)
      for (const path of pathsOf(body)) {
        const page = await other.request('GET', path)
        assert.ok(page.status < 500, `${path}: ${JSON.stringify(page.body)}`)
      }
    }
  })

  test('a record that no job could have is refused in words', async () => {
    const task = { grader: { ...grader, operation: 'x' } }
    const pairs = Object.fromEntries(Array.from({ length: 17 }, (_, at) => [`k${at}`, 'v']))
    for (const [each, sentence] of [
      [{ job: { statusMessage: '\ud800' } }, /Line 1 .+ lone surrogate/],
      [{ spec: { method: { type: 'reinforcement', hyperparameters: {}, given: [], task } } }, /spec\.method\.task/],
      [
        { spec: { method: { type: 'reinforcement', hyperparameters: {}, given: [] } } },
        /spec\.method: must have a task/,
      ],
      [{ spec: { metadata: pairs } }, /spec\.metadata: must have at most 16 keys/],
      [{ job: { finishedAt: null } }, /finishedAt/],
      [{ job: { currentAttempt: 2 ** 31 - 1 } }, /currentAttempt/],
      [{ others: change('attempt', { rowCounts: { rows: 'x' } }) }, /rowCounts\.rows/],
      [{ job: { model: null } }, /The files are not those of the model/],
    ] as const) {
      const { status, body } = await bring(each)
      assert.equal(status, 400, JSON.stringify(each))
      assert.match(body.detail ?? '', sentence)
    }
  })

  test('two at once make one job, whose model stays whole, and whose rows count', async () => {
    const api = await openAccount()
    const body = await stage({}, api)
    const answers = await Promise.all([1, 2].map(() => api.request<Imported>('POST', '/v1/imports/jobs', body)))
    assert.ok(answers.some(({ status }) => status === 200))
    for (const { status } of answers) assert.ok(status === 200 || status === 409 || status === 400, String(status))
    const { body: repeated } = await api.request<Imported>('POST', '/v1/imports/jobs', body)
    assert.equal(repeated.state, 'there')
    const path = `/v1/models/${repeated.model_name}/download`
    const { files: links } = await api.get<{ files: { name: string; url: string }[] }>(path)
    for (const { name, url } of links.filter((link) => adapter.has(link.name) && link.name !== 'README.md'))
      assert.equal(sha256Hex(await (await fetch(url)).bytes()), sha256Hex(adapter.get(name) ?? assert.fail(name)), name)
    const { limits } = await api.get<{ limits: { name: string; used: number }[] }>('/v1/limits')
    assert.equal(limits.find(({ name }) => name === 'row_bytes')?.used, body.record.size)
  })

  test('an import that fails leaves no file of its model', async () => {
    const api = await openAccount()
    const twice = (same: Line[]) => {
      const attempt = same.find(({ type }) => type === 'attempt') ?? assert.fail('no attempt')
      return [attempt, { ...attempt, number: 1000 }]
    }
    const { status, body } = await bring({ others: twice }, api)
    assert.deepEqual([status, body.detail], [400, 'The record names something twice.'])
    await bring({ hasModel: false }, api)
    const { data } = await api.get<{ data: { organization_id: string }[] }>('/openai/v1/fine_tuning/jobs')
    const accountId = data[0]?.organization_id ?? assert.fail('no job')
    const storage = createStorage({ ...connection().s3, region: 'us-east-1' })
    const left = await Array.fromAsync(storage.pages(`models/${accountId}/`))
    assert.deepEqual(left.flat(), [])
  })
})
