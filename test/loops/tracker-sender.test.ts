import assert from 'node:assert/strict'
import { mock, test } from 'node:test'
import { invalidInput } from '../../src/domain/service-error.ts'
import { seal } from '../../src/services/trackers/authorization.ts'
import { trackerSender } from '../../src/loops/tracker-sender.ts'

const tracker = {
  ...{ id: 'tracker', jobId: 7, accountId: 'account', claim: 'claim', runId: 'run', sentStep: 0, failureCount: 0 },
  request: { type: 'mlflow', trackingUri: 'https://mlflow.example.com', sealedAuthorization: null },
}
const job = {
  id: 7,
  accountId: 'account',
  status: 'COMPLETED',
  statusMessage: null,
  finishedAt: new Date(0),
  modelName: 'model',
  spec: {},
}

test('a claim is renewed while the scores of an evaluation are computed, through a failure, and not after the round', async () => {
  mock.timers.enable({ apis: ['setInterval'] })
  const scores = Promise.withResolvers<never>()
  const scoring = Promise.withResolvers<void>()
  let renewals = 0
  const warnings: unknown[] = []
  const loop = trackerSender({
    database: {
      jobTrackers: {
        claim: () => Promise.resolve([tracker]),
        renew: () => (++renewals === 3 ? Promise.reject(new Error('away')) : Promise.resolve(true)),
        release: () => Promise.resolve(),
        noteSent: () => Promise.resolve(),
      },
      trainingJobs: { get: () => Promise.resolve(job) },
      trainingSteps: { page: () => Promise.resolve([]) },
      models: { find: () => Promise.resolve({ name: 'model', artifactId: 'artifact' }) },
      artifacts: { listEvaluation: () => Promise.resolve([{}]) },
    } as never,
    evaluationScores: () => {
      scoring.resolve()
      return scores.promise
    },
    exchange: () =>
      Promise.resolve({ statusCode: 200, text: '{"run": {"info": {"run_id": "run", "status": "RUNNING"}}}' }) as never,
    secret: 'secret',
    log: { warn: (fields: unknown) => void warnings.push(fields) } as never,
    signal: new AbortController().signal,
  })
  await loop.pass(new AbortController().signal)
  await scoring.promise
  const before = renewals
  mock.timers.tick(60_000)
  assert.equal(renewals - before, 4)
  scores.reject(invalidInput('graders', 'takes too long'))
  await loop.drain?.()
  assert.equal(warnings.length, 1, 'a failed renewal is told, and ends nothing')
  const after = renewals
  mock.timers.tick(60_000)
  assert.equal(renewals, after)
})

test('credentials that another secret has sealed fail the tracker with a sentence, and call nothing', async () => {
  const events: { message: string }[] = []
  const sealed = { ...tracker, request: { ...tracker.request, sealedAuthorization: seal('old secret', 'Bearer x') } }
  const loop = trackerSender({
    database: {
      jobTrackers: {
        claim: () => Promise.resolve([sealed]),
        renew: () => Promise.resolve(true),
        fail: () => Promise.resolve({ state: 'open', isFirst: true }),
      },
      jobEvents: { add: (_job: number, event: { message: string }) => Promise.resolve(void events.push(event)) },
    } as never,
    evaluationScores: () => assert.fail('nothing is scored'),
    exchange: () => assert.fail('nothing is called'),
    secret: 'new secret',
    log: { warn: (fields: unknown) => assert.fail(JSON.stringify(fields)) } as never,
    signal: new AbortController().signal,
  })
  await loop.pass(new AbortController().signal)
  await loop.drain?.()
  assert.match(
    events[0]?.message ?? '',
    /takes nothing\. Its credentials cannot be read, because ANNEAL_SECRET has changed/,
  )
})
