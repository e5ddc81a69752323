import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { sha256Hex } from '../../../src/domain/identifiers.ts'
import { documentedDefaults } from '../../../src/domain/training-args.ts'
import type { TrainingJob } from '../../../src/domain/training-job.ts'
import { startPublic, trainingJob } from '../../http/support.ts'

const [one, two, other] = ['a', 'b', 'c'].map((digit) => digit.repeat(64))
const files = [{ name: 'adapter_config.json', key: 'models/account/m/adapter_config.json', sizeBytes: 7, sha256: 'd'.repeat(64) }]
const tuned = (name: string | undefined) => ({ name, files, baseModel: 'tiny', jobId: 7, artifactId: 'none', createdAt: new Date(0) })
const spec = {
  baseModel: { name: 'tiny', source: { path: 'tiny' } },
  args: documentedDefaults,
  givenArgs: [],
} as unknown as TrainingJob['spec']
const checkpoint = { id: 'c', files, committedAt: new Date(0), createdAt: new Date(0) }

const merged = '3b241101-e2bb-4255-8caf-4136c566a962'

suite('an export', async () => {
  const row = {
    ...{ id: merged, accountId: 'account', modelName: one, status: 'RUNNING', message: null },
    files: [{ name: 'model.safetensors', sizeBytes: 9, sha256: 'e'.repeat(64) }],
  }
  const written = new Map<string, string>()
  // "bot" leads to its second version; its first is still there.
  const leadsTo: Record<string, string | undefined> = { bot: two, 'bot@1': one, 'bot@2': two }
  const edge = await startPublic({
    database: {
      models: {
        find: (_account: string, asked: string) => {
          const name = [one, two, other].includes(asked) ? asked : leadsTo[asked]
          return Promise.resolve(name === undefined ? null : tuned(name))
        },
        displayNames: (_account: string, [name = '']: string[]) => Promise.resolve(new Map([[name, 'bot@1']])),
      },
      modelNames: {
        versionOf: (name: string) => Promise.resolve({ name: name === other ? 'other' : 'bot', version: 1 }),
        describe: () => Promise.resolve(null),
      },
      trainingJobs: { find: (_account: string, id: number) => Promise.resolve(id === 7 ? trainingJob({ spec }) : null) },
      datasets: { findVersion: () => Promise.resolve(null) },
      modelExports: { find: (_account: string, id: string) => Promise.resolve(id === merged ? row : null) },
      artifacts: { checkpointOf: () => Promise.resolve(checkpoint) },
    },
    storage: {
      presignDownload: (key: string) => Promise.resolve(`http://store/${key}`),
      podUrlSeconds: () => Promise.resolve(900),
      writeIfAbsent: (key: string, bytes: Buffer) => Promise.resolve(void written.set(`http://store/${key}`, bytes.toString())),
    },
  })
  const make = (name: string, format = 'adapter') =>
    edge.call('POST', `/v1/models/${name}/export`, { json: { format } })
  const get = (name: string, id: string) => edge.call('GET', `/v1/models/${name}/exports/${id}`)

  test('stays with its version when the name moves on', async () => {
    const { json: made } = await make('bot@1')
    assert.deepEqual(made, { id: `adapter-${one}`, model_name: one, format: 'adapter', status: 'COMPLETED' })
    for (const name of ['bot', 'bot@1', 'bot@2', one ?? '']) {
      const { json } = await get(name, made.id)
      const [{ name: file, key, sizeBytes, sha256 }] = files as [(typeof files)[0] & object]
      const [adapter, card, ...others] = json.files
      assert.deepEqual({ ...json, files: [] }, { ...made, status_reason: null, message: null, expires_in: 900, files: [] })
      assert.deepEqual(adapter, { name: file, url: `http://store/${key}`, sha256, size_bytes: sizeBytes })
      assert.deepEqual([card.name, others], ['README.md', []])
    }
  })

  test('carries the card of the model as README.md, with its hash', async () => {
    const adapter = (await get('bot@1', `adapter-${one}`)).json.files.at(-1)
    row.status = 'COMPLETED'
    const whole = (await get('bot@1', merged)).json.files.at(-1)
    row.status = 'RUNNING'
    for (const [{ name, url, sha256, size_bytes: size }, library] of [
      [adapter, 'peft'],
      [whole, 'transformers'],
    ]) {
      const text = written.get(url) ?? assert.fail(url)
      assert.deepEqual([name, sha256, size], ['README.md', sha256Hex(text), Buffer.byteLength(text)])
      assert.match(url, /models\/account\/m\/card-[0-9a-f]{64}\/README\.md$/)
      assert.match(text, RegExp(`library_name: ${library}`))
    }
    const { json } = await edge.call('GET', '/v1/models/bot@1/card')
    assert.deepEqual(json, { model_name: one, display_name: 'bot@1', text: written.get(adapter.url) })
  })

  test('is not that of another model', async () => {
    assert.equal((await get('bot', `adapter-${other}`)).status, 404)
    assert.equal((await get(other ?? '', `adapter-${one}`)).status, 404)
    for (const id of ['adapter-x', `merged-${one}`, one ?? '']) assert.equal((await get('bot', id)).status, 404)
  })

  test('may be of a checkpoint', async () => {
    const { json } = await make('ftjob-7:ckpt-step-60')
    assert.equal((await get('ftjob-7:ckpt-step-60', json.id)).json.files.length, 2)
    assert.equal((await get('ftjob-8:ckpt-step-60', json.id)).status, 404)
  })

  test('in the format merged has links once it is complete, under every name that leads to its model', async () => {
    for (const name of ['bot', 'bot@1', one ?? '']) {
      const { json } = await get(name, merged)
      assert.deepEqual([json.format, json.model_name, json.status, json.files], ['merged', one, 'RUNNING', []])
    }
    assert.equal((await get(other ?? '', merged)).status, 404)
    row.status = 'COMPLETED'
    const { json } = await get('bot@1', merged)
    const url = `http://store/exports/account/${merged}/files/model.safetensors`
    assert.deepEqual(json.files.slice(0, -1), [{ name: 'model.safetensors', url, sha256: 'e'.repeat(64), size_bytes: 9 }])
  })

  test('is refused for a base model, and for an unknown format', async () => {
    assert.equal((await make('tiny')).status, 400)
    assert.equal((await make('tiny', 'merged')).status, 400)
    assert.equal((await make('bot', 'gguf')).status, 400)
  })
})
