// The packed clients in programs of their own: typed answers, typed errors, and pages.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { clientEnv, clientPackages } from '../../tools/setup/client-env.mjs'
import { connection, openAccount } from '../support/stack.ts'

const run = promisify(execFile)
const strict = ['--noEmit', '--strict', '--module', 'nodenext', '--target', 'es2023']

const typeScript = `
import { AnnealError, connect, pages, result, type Schemas } from 'anneal-client'

const client = connect({ url: process.env['ANNEAL_URL'] ?? '', apiKey: process.env['ANNEAL_API_KEY'] ?? '' })
const names: string[] = []
for await (const page of pages((after) =>
  client.GET('/v1/data', { params: { query: { limit: 2, ...(after && { after }) } } }),
))
  names.push(...page.datasets.map((set: Schemas['DatasetList']['datasets'][number]) => set.dataset_id))
const ids: number[] = []
for await (const page of pages((after) =>
  client.GET('/v1/train/jobs', { params: { query: { limit: 1, ...(after && { after }) } } }),
))
  ids.push(...page.map((job) => job.job_id))
const refusal = await result(
  client.POST('/v1/train', { body: { model_name: 'no-such-model', dataset_id: 'a' } }),
).catch((error: unknown) => error)
if (!(refusal instanceof AnnealError)) throw refusal
console.log(JSON.stringify({ names: names.toSorted(), jobs: ids.length, status: refusal.status, code: refusal.code }))
`

const python = `
import json, os
from anneal_client.anneal import AnnealError, connect, pages, result
from anneal_client.api.data import list_datasets
from anneal_client.api.training import list_training_jobs, train
from anneal_client.models import TrainRequest

client = connect(os.environ["ANNEAL_URL"], os.environ["ANNEAL_API_KEY"])
names = []
for page in pages(lambda after: list_datasets.sync_detailed(client=client, limit=2, after=after)):
    names += [each.dataset_id for each in page.datasets]
jobs = 0
for page in pages(lambda after: list_training_jobs.sync_detailed(client=client, limit=1, after=after)):
    jobs += len(page)
try:
    result(train.sync_detailed(client=client, body=TrainRequest("no-such-model", dataset_id="a")))
except AnnealError as error:
    print(json.dumps({"names": sorted(names), "jobs": jobs, "status": error.status, "code": error.code}))
`

suite('the packed clients', async () => {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-packed-'))
  after(() => rmSync(folder, { recursive: true, force: true }))
  const api = await openAccount()
  const { apiUrl } = connection()
  const rows = new TextEncoder().encode('{"input": "a", "output": "b"}')
  for (const name of ['a', 'b', 'c', 'd', 'e']) await api.upload(name, rows)
  for (const name of ['a', 'b', 'c']) await api.train({ dataset_id: name })
  await api.post('/v1/train/jobs/cancel')
  const env = { PATH: process.env['PATH'], ANNEAL_URL: apiUrl, ANNEAL_API_KEY: api.apiKey }
  const expected = { names: ['a', 'b', 'c', 'd', 'e'], jobs: 3, status: 404, code: 'model_not_found' }

  const pack = join(root, 'tools/pack-clients.ts')
  // Beside the paths, the progress of a first set-up is printed.
  const printed = execFileSync(process.execPath, [pack, `${apiUrl}/openapi.json`], { encoding: 'utf8' })
  const [tarball = '', wheel = ''] = ['tgz', 'whl'].map((type) => new RegExp(`^/.*\\.${type}$`, 'm').exec(printed)?.[0])

  test('in TypeScript', async () => {
    const packages = await clientPackages(join(root, 'test/clients/typescript'))
    const own = join(folder, 'node_modules/anneal-client')
    mkdirSync(own, { recursive: true })
    execFileSync('tar', ['-xzf', tarball, '-C', own, '--strip-components=1'])
    for (const name of ['openapi-fetch', 'openapi-typescript-helpers'])
      symlinkSync(join(packages, 'node_modules', name), join(folder, 'node_modules', name))
    writeFileSync(join(folder, 'package.json'), '{"type": "module"}')
    writeFileSync(join(folder, 'program.ts'), typeScript)
    const types = ['--types', 'node', '--typeRoots', join(root, 'node_modules/@types')]
    await run(
      process.execPath,
      [join(packages, 'node_modules/typescript/bin/tsc'), ...strict, ...types, 'program.ts'],
      {
        cwd: folder,
      },
    )
    const { stdout } = await run(process.execPath, [join(folder, 'program.ts')], { env })
    assert.deepEqual(JSON.parse(stdout), expected)
  })

  test('in Python', async () => {
    const packages = await clientEnv(join(root, 'test/clients/requirements-generator.txt'))
    // Python imports from a wheel as from a folder.
    const { stdout } = await run(join(packages, 'bin/python'), ['-c', python], { env: { ...env, PYTHONPATH: wheel } })
    assert.deepEqual(JSON.parse(stdout), expected)
  })
})
