// An account of 20 jobs, 5 models and 3 data sets moves from one installation to another by the command line.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { cpSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { sha256Hex } from '../../src/domain/identifiers.ts'
import type { Connection } from '../../src/embedded/connection.ts'
import { root } from '../../tools/paths.mjs'
import { sampleFile, sampleRows } from '../support/rows.ts'
import { connection, createApi, openAccount, type Api } from '../support/stack.ts'
import { startSecondStack } from './support/second-stack.ts'

type Ended = { exitCode: number | null; signal: NodeJS.Signals | null; stdout: string; stderr: string }
type Id = { kind: string; old: string; new: string }
type Imported = { imported: number; there: number; ids: Id[] }
type Metrics = { metrics: object[] }
type Events = { events: { at: string; kind: string; reason: string | null }[] }

const run = { max_steps: 12, batch_size: 4, save_steps: 6, eval_steps: 6 }
const texts = { input: '{{sample.output_text}}', reference: '{{item.answer}}' }
const rewarded = {
  type: 'reinforcement',
  reinforcement: {
    grader: { type: 'text_similarity', name: 'close', evaluation_metric: 'fuzzy_match', ...texts },
    hyperparameters: { samples_per_prompt: 4, max_completion_tokens: 8 },
  },
}
const prompts = sampleRows.slice(0, 6).map(({ input }) => input)

suite('an account that moves between two installations', () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-moving-'))
  const archive = join(folder, 'account')
  let source: Api
  let target: Api
  let second: { connection: Connection; stop: () => Promise<void> }
  let jobIds: number[]
  let webhookId: string

  before(async () => {
    source = await openAccount()
    second = await startSecondStack()
    target = createApi(second.connection.apiKey, () => second.connection)
    const webhook = { url: 'http://127.0.0.1:9/jobs' }
    webhookId = (await target.post<{ id: string }>('/v1/webhooks', webhook)).id
    jobIds = await fillAccount(source)
  })
  after(async () => {
    await second.stop()
    rmSync(folder, { recursive: true, force: true })
  })

  const here = () => ({ ANNEAL_URL: connection().apiUrl, ANNEAL_API_KEY: source.apiKey })
  const there = (apiKey = second.connection.apiKey) => ({
    ANNEAL_URL: second.connection.apiUrl,
    ANNEAL_API_KEY: apiKey,
  })
  const importInto = async (env = there()) => {
    const { exitCode, stdout, stderr } = await anneal(['import', archive, '--json'], env)
    assert.equal(exitCode, 0, stderr)
    return JSON.parse(stdout) as Imported
  }

  test('an export that is killed goes on where it was, and fetches nothing twice', async () => {
    const killed = await anneal(['export', archive], here(), /^job \d+/m)
    assert.equal(killed.signal, 'SIGKILL')
    const refused = await anneal(['import', archive], there())
    assert.match(refused.stderr, /The export is not finished/)
    const { exitCode, stderr } = await anneal(['export', archive], here())
    assert.equal(exitCode, 0, stderr)
    assert.doesNotMatch(stderr, /^data set products, version 1/m)
    const { counts } = manifestIn(archive)
    assert.deepEqual([counts.job, counts.models, counts.data, counts.alias], [20, 5, 7, 1])
    const repeated = await anneal(['export', archive], here())
    assert.equal(repeated.stderr, '')
  })

  test('an import that lacks a base model or finds a changed file is refused before it writes', async () => {
    for (const [change, sentence] of [
      [
        (text: string) => text.replaceAll(`"base_model": "${connection().baseModel}"`, '"base_model": "absent-9b"'),
        /no base model "absent-9b"/,
      ],
      [(text: string) => text.replaceAll(/"sha256": "..../g, '"sha256": "0000'), /not as the manifest says/],
    ] as const) {
      const copy = join(folder, 'changed')
      cpSync(archive, copy, { recursive: true })
      const path = join(copy, 'manifest.json')
      writeFileSync(path, change(readFileSync(path, 'utf8')))
      const { exitCode, stderr } = await anneal(['import', copy], there())
      assert.equal(exitCode, 1)
      assert.match(stderr, sentence)
      rmSync(copy, { recursive: true })
    }
    assert.deepEqual((await target.get<{ datasets: object[] }>('/v1/data')).datasets, [])
  })

  test('an import that is killed goes on, and brings nothing twice', async () => {
    for (const at of [/^1 of /m, /job \d+/, /^1[25] of /m])
      assert.equal((await anneal(['import', archive], there(), at)).signal, 'SIGKILL')
    const { imported, there: known } = await importInto()
    assert.ok(imported > 0 && known > 0)
    const again = await importInto()
    assert.deepEqual([again.imported, again.there], [0, imported + known])
    assert.equal((await target.get<object[]>('/v1/train/jobs?limit=100')).length, 20)
    const { events } = await target.get<{ events: { action: string }[] }>('/v1/audit?limit=200')
    assert.equal(events.filter(({ action }) => action === 'import.job').length, 20)
    assert.equal(events.filter(({ action }) => action === 'import.data').length, 7)
    const left = await target.get<{ datasets: { dataset_id: string }[] }>('/v1/data')
    assert.deepEqual(
      left.datasets.filter(({ dataset_id: id }) => id.startsWith('import-')),
      [],
    )
  })

  test('its models answer under the same names with the same words, and have the same bytes', async () => {
    const { ids } = await importInto()
    const models = ids.filter(({ kind }) => kind === 'model')
    assert.equal(models.length, 5)
    for (const { old, new: now } of models) assert.equal(now, old)
    const answers = async (api: Api, name: string) =>
      await api.post<{ output: string }[]>('/v1/completions', { model_name: name, prompt: prompts, max_tokens: 16 })
    for (const name of [...models.map(({ old }) => old), 'pip', 'pip@1', 'pip@production']) {
      assert.deepEqual(await answers(target, name), await answers(source, name), name)
      assert.deepEqual(await hashesOf(target, name), await hashesOf(source, name), name)
    }
  })

  test('its jobs show the same series, events, attempts and evaluations', async () => {
    const { ids } = await importInto()
    const newIds = new Map(ids.filter(({ kind }) => kind === 'job').map((id) => [Number(id.old), Number(id.new)]))
    for (const old of jobIds) {
      const now = newIds.get(old) ?? assert.fail(`job ${old} has no new id`)
      const same = async <T>(path: string, shown: (answer: T) => unknown) => {
        const [before, afterwards] = await Promise.all([
          source.get<T>(`/v1/train/jobs/${old}${path}`),
          target.get<T>(`/v1/train/jobs/${now}${path}`),
        ])
        assert.deepEqual(shown(afterwards), shown(before), `${path} of job ${old}`)
      }
      await same<Metrics>('/metrics?limit=1000', ({ metrics }) => metrics)
      await same<{ attempts: object[] }>('/attempts', ({ attempts }) => attempts)
      await same<Events>('/events?limit=1000', ({ events }) =>
        events.filter(({ reason }) => reason !== 'imported').map(({ at, kind, reason }) => [at, kind, reason]),
      )
      await same<Awaited<ReturnType<Api['job']>>>(
        '',
        ({ status, status_message, model_name, dataset_id, history }) => ({
          ...{ status, status_message, model_name, dataset_id, history },
        }),
      )
    }
    const evaluated = jobIds.at(0) ?? 0
    const evaluationOf = async (api: Api, id: number) =>
      await api.get<{ eval_results: object[] }>(`/v1/train/jobs/${id}/eval`)
    const before = await evaluationOf(source, evaluated)
    const { ...shown } = await evaluationOf(target, newIds.get(evaluated) ?? 0)
    assert.deepEqual({ ...shown, job_id: 0 }, { ...before, job_id: 0 })
  })

  test('its data sets and files have the same rows', async () => {
    for (const id of ['products', 'short', 'broken'])
      assert.deepEqual(await target.get(`/v1/data/${id}/rows`), await source.get(`/v1/data/${id}/rows`))
    const { data } = await source.get<{ data: { id: string }[] }>('/openai/v1/files')
    assert.equal(data.length, 1)
    for (const { id } of data) {
      const path = `/openai/v1/files/${id}/content`
      assert.deepEqual(await target.get(path), await source.get(path))
    }
  })

  test('its jobs are history: none resumes, sends a webhook or counts as use of this installation', async () => {
    const { ids } = await importInto()
    const cancelled = ids.find(({ kind, old }) => kind === 'job' && Number(old) === jobIds.at(-1))
    const refused = await target.request<{ detail: string }>('POST', `/v1/train/jobs/${cancelled?.new}/resume`)
    assert.equal(refused.status, 409)
    assert.match(refused.body.detail, /ran in another installation.+cannot be resumed/)
    assert.deepEqual((await target.get<{ causes: object[] }>('/v1/usage/training')).causes, [])
    const { deliveries } = await target.get<{ deliveries: object[] }>(`/v1/webhooks/${webhookId}/deliveries`)
    assert.deepEqual(deliveries, [])
  })

  test('a training goes on from an imported model', async () => {
    const id = await target.train({
      model_name: 'pip',
      dataset_id: 'products',
      finetune_args: { ...run, max_steps: 6 },
    })
    await target.untilStatus(id, 'COMPLETED')
  })

  test('a forged export gets no name, no state and no setting that a job of its own could not have', async () => {
    const opened = await openAccount(() => second.connection)
    const refused = async (forgery: Forgery, sentence: RegExp) => {
      const { exitCode, stderr } = await anneal(['import', forge(forgery)], there(opened.apiKey))
      assert.match(stderr, sentence)
      assert.equal(exitCode, 1)
    }
    const change = (from: string, to: string) => (text: string) => text.replace(from, to)
    await refused({ record: change('"status":"COMPLETED"', '"status":"QUEUED"') }, /must be the status of an ended job/)
    await refused({ record: change('"spec":{', '"spec":{"dataKey":"uploads/other",') }, /Unrecognized key/)
    await refused({ record: change('"jobId":', '"jobId":7') }, /The record is of another job/)
    await refused({ config: change('"use_dora": false', '"use_dora": true') }, /use_dora/)
    assert.deepEqual(await opened.get('/v1/train/jobs'), [])
    const claimed = 'f'.repeat(64)
    const renamed = forge({ record: (text) => text.replaceAll(/"name":"[0-9a-f]{64}"/g, `"name":"${claimed}"`) })
    const { exitCode, stdout, stderr } = await anneal(['import', renamed, '--json'], there(opened.apiKey))
    assert.equal(exitCode, 0, stderr)
    const { ids } = JSON.parse(stdout) as Imported
    assert.notEqual(ids.find(({ kind }) => kind === 'model')?.new, claimed)
  })

  type Forgery = { record?: (text: string) => string; config?: (text: string) => string }

  /** An export of one job with its model, whose files are changed and whose hashes are right. */
  function forge({ record: changeRecord = (text) => text, config = (text) => text }: Forgery): string {
    const copy = mkdtempSync(join(folder, 'forged-'))
    cpSync(archive, copy, { recursive: true })
    const manifest = manifestIn(copy)
    const piece = manifest.pieces.find(({ kind }) => kind === 'job') ?? assert.fail('no job')
    const jobFolder = join(copy, 'jobs', String(piece.job_id))
    const [before, after] = changeFile(join(jobFolder, 'adapter_config.json'), config)
    const rehashed = (text: string) =>
      text
        .replaceAll(before.sha256, after.sha256)
        .replace(new RegExp(`"sizeBytes":${before.sizeBytes}\\b`), `"sizeBytes":${after.sizeBytes}`)
    const [, record] = changeFile(join(jobFolder, 'record.jsonl'), (text) => changeRecord(rehashed(text)))
    const files = piece.files.map((file) => (file.name === 'adapter_config.json' ? { ...file, ...after } : file))
    const pieces = [{ ...piece, files, record: { name: 'record.jsonl', ...record } }]
    writeFileSync(join(copy, 'manifest.json'), JSON.stringify({ ...manifest, pieces }))
    return copy
  }

  test('a second account of the same installation gets names of its own for the same models', async () => {
    const opened = await openAccount(() => second.connection)
    const { ids } = await importInto(there(opened.apiKey))
    const models = ids.filter(({ kind }) => kind === 'model')
    for (const { old, new: now } of models) {
      assert.notEqual(now, old)
      assert.equal((await opened.request('GET', `/v1/models/${old}/download`)).status, 404)
      assert.deepEqual(await hashesOf(opened, now), await hashesOf(target, old))
    }
  })
})

type Described = { sizeBytes: number; sha256: string }
type JobPiece = { kind: string; job_id: number; files: (Described & { name: string })[] }

const manifestIn = (folder: string) =>
  JSON.parse(readFileSync(join(folder, 'manifest.json'), 'utf8')) as {
    counts: Record<string, number>
    pieces: JobPiece[]
  }

/** @returns size and hash before and after */
function changeFile(path: string, change: (text: string) => string): [Described, Described] {
  const describe = (bytes: Buffer) => ({ sizeBytes: bytes.length, sha256: sha256Hex(bytes) })
  const old = readFileSync(path)
  const changed = Buffer.from(change(old.toString()))
  writeFileSync(path, changed)
  return [describe(old), describe(changed)]
}

async function hashesOf(api: Api, name: string) {
  const { files } = await api.get<{ files: { name: string; sha256: string }[] }>(
    `/v1/models/${encodeURIComponent(name)}/download`,
  )
  return files.filter(({ name: file }) => file !== 'README.md').map(({ name: file, sha256 }) => [file, sha256])
}

/** Three data sets in four versions, evaluation rows of a request, a file, five models of which one continues another, and 15 jobs that failed or were cancelled. */
async function fillAccount(api: Api): Promise<number[]> {
  await api.upload('products', sampleFile)
  await api.upload(
    'short',
    Buffer.from(
      `${sampleRows
        .slice(0, 8)
        .map(({ input, output }) => JSON.stringify({ prompt: input, answer: output }))
        .join('\n')}\n`,
    ),
  )
  await api.upload('pairs', readFileSync(join(root, 'models/samples/preferences.jsonl')))
  await api.upload('broken', Buffer.from('{"input": 7}\n'))
  const form = new FormData()
  form.set('purpose', 'batch')
  form.set('file', new Blob(['{"custom_id": "a"}\n']), 'requests.jsonl')
  await api.post('/openai/v1/files', form)
  const trained: number[] = []
  const train = async (body: Record<string, unknown>) => {
    const id = await api.train({ finetune_args: run, ...body })
    await api.untilStatus(id, 'COMPLETED')
    trained.push(id)
  }
  await train({
    dataset_id: 'products',
    custom_model_name: 'pip',
    eval_data: sampleRows.slice(0, 4),
    metadata: { team: 'a' },
  })
  await train({ dataset_id: 'pairs', custom_model_name: 'pip', method: { type: 'dpo' } })
  await api.request('PUT', '/v1/models/pip/aliases/production', { version: 1 })
  await train({ dataset_id: 'short', custom_model_name: 'short-bot', method: rewarded })
  await train({ dataset_id: 'products', model_name: 'pip@1' })
  await api.upload('products', Buffer.concat([sampleFile, Buffer.from('{"input": "Who?", "output": "Pip."}\n')]))
  await train({ dataset_id: 'products', finetune_args: { ...run, r_value: 8 } })
  const failed = await Promise.all(Array.from({ length: 10 }, () => api.train({ dataset_id: 'broken' })))
  for (const id of failed) await api.until(id, ({ status }) => status === 'FAILED')
  const cancelled = await Promise.all(Array.from({ length: 5 }, () => api.train({ dataset_id: 'short' })))
  for (const id of cancelled) await api.post(`/v1/train/jobs/${id}/cancel`)
  for (const id of cancelled) await api.untilStatus(id, 'CANCELLED')
  return [...trained, ...failed, ...cancelled]
}

/** Runs the command line. With `killAt`, it is killed once it has written that to standard error. */
function anneal(args: string[], env: NodeJS.ProcessEnv, killAt?: RegExp): Promise<Ended> {
  return new Promise((resolve, reject) => {
    const child = spawn(process.execPath, ['src/cli.ts', ...args], {
      cwd: root,
      env: { ...process.env, INIT_CWD: root, ...env },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    const ended = { stdout: '', stderr: '' }
    child.stdout.on('data', (chunk) => (ended.stdout += String(chunk)))
    child.stderr.on('data', (chunk) => {
      ended.stderr += String(chunk)
      if (killAt?.test(ended.stderr)) child.kill('SIGKILL')
    })
    child.once('error', reject)
    child.once('close', (exitCode, signal) => resolve({ exitCode, signal, ...ended }))
  })
}
