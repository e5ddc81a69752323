// Programs of users as graders in pods: what they reach, what their faults cost, how many pods there are, and that none stays.
import { KubeConfig } from '@kubernetes/client-node'
import assert from 'node:assert/strict'
import { after, describe, test } from 'node:test'
import { createConnection } from '../../../../src/compute/kubernetes/api/connection.ts'
import { createCluster } from '../../../../src/compute/kubernetes/cluster.ts'
import { parsePodTemplates } from '../../../../src/compute/kubernetes/pods/pod-template-file.ts'
import { createKubernetesGraderPods } from '../../../../src/compute/kubernetes/python-graders/kubernetes-grader-pods.ts'
import { graderPodName } from '../../../../src/domain/python-grader.ts'
import { createPodSandbox } from '../../../../src/grading/python/pod-sandbox.ts'
import { createPythonGraders } from '../../../../src/grading/python/python-graders.ts'
import { gradingRequest } from '../../../../src/grading/python/request.ts'
import { graderPods } from '../../../../src/loops/grader-pods.ts'
import { runLoop } from '../../../../src/loops/run-loop.ts'
import { connectDatabase } from '../../../../src/repositories/database.ts'
import { listenToNotifications } from '../../../../src/repositories/notifications.ts'
import { costsItsOwnSample } from '../../../grading/python/attack.ts'
import { quickAttacks, slowAttacks } from '../../../grading/python/hostile-graders.ts'
import { eventually } from '../../../support/eventually.ts'
import { anAccount } from '../../../support/job-rows.ts'
import { createScratchDatabase } from '../../../support/scratch-database.ts'
import { openAccount } from '../../../support/stack.ts'
import { api, cluster, openNamespace, until } from '../support/cluster.ts'

const component = 'app.kubernetes.io/component=python-grader'
const { signal } = new AbortController()
const fair = 'def grade(sample, item): return item["n"] / 10'
const numbered = (count: number) => Array.from({ length: count }, (_, n) => gradingRequest({}, { n }))
const tenths = (count: number) => Array.from({ length: count }, (_, n) => ({ score: n / 10 }))

/** A pod's own files may be read: they are those of the image. */
const forbidden = [
  '/var/run/secrets/kubernetes.io/serviceaccount/token',
  '/var/lib/kubelet',
  '/proc/1/environ',
  '/proc/1/root',
  '/root',
]

/** Two workers, and a service, in a namespace without the product. */
async function openPods({ idleMs = 300_000, total = 8 } = {}) {
  const namespace = await openNamespace()
  const scratch = await createScratchDatabase()
  const realTime = 'select clock_timestamp()'
  await scratch.client.query(
    `create or replace function now() returns timestamptz language sql stable as '${realTime}'`,
  )
  const database = connectDatabase(scratch.url, { poolSize: 8 })
  const notifications = listenToNotifications(scratch.url)
  const stopping = new AbortController()
  const tokenOf = (name: string) => `token of ${name}`
  const config = new KubeConfig()
  config.loadFromFile(cluster.kubeconfig)
  const loops = [1, 2].map(() => {
    const shared = createCluster({
      ...{
        connection: createConnection(config),
        namespace: namespace.name,
        gpuResource: 'nvidia.com/gpu',
        instance: 'blue',
      },
      templates: parsePodTemplates({
        ...{ trainer: {}, 'model-server': {} },
        'python-grader-images': { '2026-11-28': 'localhost/anneal-test/graders:1' },
      }),
      ...{ callsPerSecond: 50, callBurst: 100, imageTimeoutMs: 60_000, nodeLostAfterMs: 10_000 },
    })
    const bounds = { ofAccount: 2, total, idleMs }
    const log = { warn: () => undefined }
    const loop = graderPods({
      ...{ database, notifications, tokenOf, bounds, log },
      pods: createKubernetesGraderPods(shared),
    })
    return runLoop(loop, { log, signal: stopping.signal })
  })
  const gradersOf = ({ sampleMs = 60_000 } = {}) =>
    createPythonGraders({
      sandbox: createPodSandbox({ pods: database.graderPods, tokenOf, podsOfAccount: 2 }),
      sampleMs,
    })
  after(async () => {
    stopping.abort()
    await Promise.all(loops)
    await notifications.close()
    await database.close()
    await scratch.drop()
    await namespace.remove()
  })
  return {
    namespace,
    account: () => anAccount(database),
    gradersOf,
    score: (accountId: string, source: string, samples = numbered(4), options?: { sampleMs: number }) =>
      gradersOf(options).score(accountId, { grader: { source }, samples }, signal),
    living: async () =>
      (await namespace.pods(component)).filter(
        ({ metadata, status }) => !metadata.deletionTimestamp && ['Pending', 'Running'].includes(status.phase),
      ),
  }
}

describe('graders in pods', { concurrency: false }, async () => {
  const { namespace, account, score, gradersOf, living } = await openPods()

  test('two services that ask at once have one pod, and another account has another one', async () => {
    const [one, two] = [await account(), await account()]
    const scores = await Promise.all([score(one, fair), score(one, fair), score(two, fair)])
    assert.deepEqual(scores, [tenths(4), tenths(4), tenths(4)])
    const names = [one, two].map((id) => graderPodName(id, { source: fair }))
    assert.deepEqual((await living()).map(({ metadata }) => metadata.name).toSorted(), names.toSorted())
  })

  test('a third program of an account waits its turn', async () => {
    const owner = await account()
    const sources = ['1', '2', '3'].map((n) => `${fair} # ${n}`)
    const all = Promise.all(sources.map((source) => score(owner, source)))
    const most: number[] = []
    const ours = new Set(sources.map((source) => graderPodName(owner, { source })))
    let isOver = false
    void all.finally(() => (isOver = true))
    await until('all have graded', async () => {
      most.push((await living()).filter(({ metadata }) => ours.has(metadata.name)).length)
      return isOver
    })
    assert.deepEqual(await all, [tenths(4), tenths(4), tenths(4)])
    assert.ok(Math.max(...most) <= 2, `${Math.max(...most)} pods`)
  })

  test('a pod that is deleted while it grades costs no sample', async () => {
    const owner = await account()
    const source = `import time\n${fair.replace('return', 'time.sleep(1); return')}`
    const grading = score(owner, source, numbered(6))
    const name = graderPodName(owner, { source })
    await until('it runs', async () => (await living()).some(({ metadata }) => metadata.name === name))
    const pod = await until('it grades', async () =>
      (await living()).find(
        ({ metadata, status }) =>
          metadata.name === name && status.conditions?.some((each) => each.type === 'Ready' && each.status === 'True'),
      ),
    )
    await api.delete(`${namespace.path}/pods/${pod.metadata.name}`)
    assert.deepEqual(await grading, tenths(6))
  })

  test('a program that cannot be loaded is refused with its fault', async () => {
    const checking = gradersOf().check(await account(), [{ grader: { source: 'def grade(:' }, path: 'grader' }])
    await assert.rejects(checking, /SyntaxError: invalid syntax/)
  })
})

describe('a hostile grader in a pod', { concurrency: false }, async () => {
  // An account each: a third program of one would wait until the first is idle.
  const { account, score } = await openPods({ idleMs: 20_000, total: 50 })
  const attacks = [
    ...Object.entries(quickAttacks).map(([name, attack]) => ({ name, attack, sampleMs: 60_000 })),
    ...Object.entries(slowAttacks).map(([name, attack]) => ({ name, attack, sampleMs: 5000 })),
  ]
  for (const { name, attack, sampleMs } of attacks)
    test(`that ${name} costs its own sample only`, async () => {
      const owner = await account()
      await costsItsOwnSample({ ...attack, becomes: attack.inPod ?? attack.becomes, forbidden }, (source, samples) =>
        score(owner, source, samples, { sampleMs }),
      )
    })
})

describe('a pod that nobody uses', async () => {
  const { namespace, account, score } = await openPods({ idleMs: 16_000 })

  test('goes, and comes back when it is asked for', async () => {
    const owner = await account()
    await score(owner, fair)
    await until('no pod is left', async () => (await namespace.pods(component)).length === 0)
    assert.deepEqual(await score(owner, fair), tenths(4))
  })
})

describe('the product', async () => {
  const account = await openAccount()

  const pods = () => api.list(`/api/v1/namespaces/anneal-runs/pods?labelSelector=${encodeURIComponent(component)}`)
  const run = () =>
    account.post<{ reward: number }>('/openai/v1/fine_tuning/alpha/graders/run', {
      ...{ grader: { type: 'python', source: fair, name: 'fair' }, model_sample: 'x', item: { n: 7 } },
    })

  test('grades by a program in a pod of anneal-runs, and removes the pod also when the api is killed', async () => {
    assert.equal((await run()).reward, 0.7)
    assert.equal((await pods()).length, 1)
    const apis = '/api/v1/namespaces/anneal/pods?labelSelector=app.kubernetes.io%2Fname%3Danneal-api'
    for (const { metadata } of await api.list(apis))
      await api.delete(`/api/v1/namespaces/anneal/pods/${metadata.name}?gracePeriodSeconds=0`)
    await until('the pod is gone', async () => (await pods()).length === 0)
    await eventually(() =>
      run().then(
        ({ reward }) => reward === 0.7,
        () => false,
      ),
    )
    await until('the next pod is gone', async () => (await pods()).length === 0)
  })
})
