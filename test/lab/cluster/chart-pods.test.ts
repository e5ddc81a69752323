// The chart with pods that run, from an empty cluster: a fine-tune and an answer by `helm test`, an upgrade and a rollback
// under a job that trains, two installations that train at once, and nothing left. chart.test.ts looks at objects alone.
import assert from 'node:assert/strict'
import { after, before, describe, test, type TestContext } from 'node:test'
import { sampleRows } from '../../support/rows.ts'
import { api, type Pod } from './support/cluster.ts'
import { importImages, kubectl, openRelease } from './support/releases.ts'

const args = { seed: 7, batch_size: 2, gradient_accumulation_steps: 1, max_steps: 2000, save_steps: 500 }
const wanted = ['name', 'instance', 'version', 'component', 'managed-by'].map((name) => `app.kubernetes.io/${name}`)

/** Runs a step and tells its seconds. */
async function timed<T>(t: TestContext, name: string, work: () => Promise<T>): Promise<T> {
  const startedAt = performance.now()
  const result = await work()
  t.diagnostic(`${name}: ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  return result
}

before(() => importImages(() => {}))

describe('an installation on an empty cluster', async () => {
  const blue = await openRelease('blue')
  after(() => blue.remove())
  const podOf = async (job: number) =>
    (await api.list<Pod>(`/api/v1/namespaces/${blue.runs}/pods?labelSelector=anneal.dev/job=${job}`))[0]

  test('answers with a tuned model after two commands', async (t) => {
    await timed(t, 'helm install', blue.install)
    const said = await timed(t, 'helm test: the doctor, a fine-tune and an answer', blue.test)
    // Two pods and their three network policies.
    assert.equal(said.match(/Phase: +Succeeded/g)?.length, 5, said)
    for (const check of ['rights', 'temporal', 'object store', 'bucket and database', 'internal api'])
      assert.match(said, RegExp(`ok +${check} `), said)
  })

  test('upgrades and rolls back while a job trains on in its pod', async (t) => {
    const client = await blue.client()
    const id = await client.train({ data: sampleRows, finetune_args: args })
    const at = (step: number) => client.until(id, ({ history }) => history.includes(`"step":${step}`))
    await timed(t, 'from submit to step 10', () => at(10))
    const before = await podOf(id)
    await timed(t, 'helm upgrade', () => blue.upgrade('--set', 'slots=3'))
    t.diagnostic(`step ${(await client.history(id)).at(-1)?.step} after the upgrade`)
    await timed(t, 'helm rollback', blue.rollback)
    t.diagnostic(`step ${(await client.history(id)).at(-1)?.step} after the rollback`)
    assert.equal((await podOf(id))?.metadata.uid, before?.metadata.uid, 'the pod of before trains')
    for (const label of wanted) assert.ok(before?.metadata.labels?.[label], label)
    const { resume_count } = await client.until(id, ({ status }) => status === 'COMPLETED')
    assert.equal(resume_count, 0)
  })

  test('leaves nothing, though a model server runs', async (t) => {
    assert.ok((await blue.objects()).some((name) => name.startsWith('deployment.apps/model-server')))
    await timed(t, 'helm uninstall', () => blue.uninstall())
    assert.equal(await kubectl('-n', 'blue', 'get', 'secrets,persistentvolumeclaims,pods,jobs', '-o', 'name'), '')
    assert.equal(await kubectl('get', 'namespaces', blue.runs, '--ignore-not-found', '-o', 'name'), '')
  })
})

describe('two installations', async () => {
  const releases = await Promise.all(['blue', 'green'].map(openRelease))
  after(() => Promise.all(releases.map((release) => release.remove())))

  test('train side by side, and the end of one is not felt by the other', async (t) => {
    await timed(t, 'two times helm install', () => Promise.all(releases.map((release) => release.install())))
    await timed(t, 'two times helm test', () => Promise.all(releases.map((release) => release.test())))
    const [first, second] = releases
    await timed(t, 'helm uninstall of one', async () => first?.uninstall())
    await timed(t, 'helm test of the other', async () => second?.test())
    await second?.uninstall()
  })
})
