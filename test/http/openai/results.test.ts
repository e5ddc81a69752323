import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import type { PreparedData, TrainingSpec } from '../../../src/domain/training-job.ts'
import { documentedDefaults } from '../../../src/domain/training-args.ts'
import { jobDetails, startPublic, trainingJob } from '../support.ts'

const lastStep = { step: 100, loss: 1.5, tokens: 4096, tokens_per_second: 10, remaining_time: 60 }
const spec = { args: documentedDefaults, evaluationKey: null } as unknown as TrainingSpec
const preparedData = { train: { rowCount: 8 }, evaluation: { rowCount: 2 } } as PreparedData
const jobs = [
  trainingJob({ id: 1, spec, preparedData }),
  trainingJob({ id: 2, spec, status: 'COMPLETED', finishedAt: new Date(0) }),
  trainingJob({ id: 3, spec, status: 'CANCELLED', finishedAt: new Date(0), pauseRequestedAt: new Date(0) }),
  trainingJob({ id: 4, spec: { ...spec, method: { type: 'dpo' } } as TrainingSpec, finishedAt: new Date(0) }),
]

suite('the events of a fine-tuning job', async () => {
  const edge = await startPublic({
    database: {
      trainingJobs: { find: (_account: string, id: number) => Promise.resolve(jobs[id - 1] ?? null) },
      jobDetails: {
        describe: () => Promise.resolve(jobs.map(({ id, status }) => jobDetails({ id, status, lastStep }))),
      },
      jobTimeline: {
        list: () =>
          Promise.resolve([
            { kind: 'step', at: new Date(2000), step: { ...lastStep, valid_loss: 0.25, valid_rows: 2 } },
            { kind: 'step', at: new Date(1000), step: { ...lastStep, step: 99, valid_loss: null } },
          ]),
      },
      trainingSteps: {
        csvSize: (id: number) => Promise.resolve(id === 1 || id === 3 ? 0 : 17),
        csvPages: async function* () {
          yield Promise.resolve([{ step: 1, line: '1,0.5,,\n' }])
          yield Promise.resolve([{ step: 2, line: '2,0.25,,\n' }])
        },
      },
    },
  })
  const get = (path: string) => edge.call('GET', `/openai/v1/${path}`)

  test('estimates its end while it trains, and counts its tokens once it has ended', async () => {
    const now = Math.floor(Date.now() / 1000)
    const { json: training } = await get('fine_tuning/jobs/ftjob-1')
    assert.ok(training.estimated_finish >= now + 60)
    assert.deepEqual([training.trained_tokens, training.result_files], [null, []])
    const { json: done } = await get('fine_tuning/jobs/ftjob-2')
    assert.deepEqual([done.trained_tokens, done.estimated_finish], [4096, null])
    assert.deepEqual(done.result_files, ['file-results-2'])
    const { json: paused } = await get('fine_tuning/jobs/ftjob-3')
    assert.deepEqual([paused.status, paused.trained_tokens, paused.result_files], ['paused', null, []])
  })

  test('lists steps as events of the type metrics', async () => {
    const { json } = await get('fine_tuning/jobs/ftjob-1/events?after=ftevent-step-101&limit=1')
    assert.deepEqual([json.has_more, json.last_id], [true, 'ftevent-step-100'])
    const [{ type, message, data }] = json.data
    assert.deepEqual([type, message], ['metrics', 'Step 100/100: training loss=1.50, validation loss=0.25'])
    const series = { train_loss: 1.5, valid_loss: 0.25, full_valid_loss: 0.25 }
    assert.deepEqual(data, { step: 100, total_steps: 100, ...series })
  })

  test('gives an ended job a file that can be read and not deleted', async () => {
    const { json } = await get('files/file-results-2')
    const { status, text } = await get('files/file-results-2/content')
    assert.deepEqual(
      [status, text],
      [200, 'step,train_loss,train_accuracy,valid_loss,valid_mean_token_accuracy\n1,0.5,,\n2,0.25,,\n'],
    )
    assert.deepEqual([json.purpose, json.bytes], ['fine-tune-results', text.length])
    assert.equal((await edge.call('DELETE', '/openai/v1/files/file-results-2')).status, 409)
    for (const id of ['file-results-1', 'file-results-9', 'file-results-x'])
      assert.equal((await get(`files/${id}/content`)).status, 404)
  })

  test("gives the result file a column for each figure of the method, after OpenAI's", async () => {
    const { text } = await get('files/file-results-4/content')
    assert.match(String(text), /^step,.*,valid_mean_token_accuracy,train_rewards\/chosen,valid_rewards\/chosen,/)
  })

  test('names the alternative to an unknown tracker', async () => {
    const integrations = [{ type: 'wandb', wandb: { project: 'p' } }]
    const json = { model: 'tiny', training_file: 'file-1', integrations }
    const { status, json: refused } = await edge.call('POST', '/openai/v1/fine_tuning/jobs', { json })
    assert.deepEqual([status, refused.error.param], [400, 'integrations[0].type'])
    assert.match(refused.error.message, /must be mlflow.*events of the type metrics.*result_files/)
  })

  test('refuses a tracker that could never be called, and names the field to change', async () => {
    const tracking_uri = 'https://mlflow.example.com'
    for (const [part, given, sentence] of [
      ['tracking_uri', { tracking_uri: `${tracking_uri}/?workspace=a` }, /must have no query and no fragment: give/],
      ['tracking_uri', { tracking_uri: `${tracking_uri}/#/experiments/1` }, /must have no query and no fragment: give/],
      ['token', { tracking_uri, token: 'secret\n' }, /must have visible ASCII characters only: remove line breaks/],
      ['username', { tracking_uri, username: 'a:b', password: 'c' }, /must not have a colon/],
    ] as const) {
      const json = { model: 'tiny', training_file: 'file-1', integrations: [{ type: 'mlflow', ...given }] }
      const { status, json: refused } = await edge.call('POST', '/openai/v1/fine_tuning/jobs', { json })
      assert.deepEqual([status, refused.error.param], [400, `integrations[0].${part}`])
      assert.match(refused.error.message, sentence)
    }
  })
})
