// A job's series in a real MLflow server, read by MLflow's own client: whole and without doubles when the worker and MLflow are
// killed in the middle. The event file of the same job, read by TensorBoard.
import assert from 'node:assert/strict'
import { execFile, spawn, type ChildProcess } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { clientEnv } from '../../tools/setup/client-env.mjs'
import { processId } from '../../src/embedded/connection.ts'
import { eventually, untilSucceeds } from '../support/eventually.ts'
import { freePort } from '../support/free-port.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'

type Point = [step: number, value: number]
type Run = {
  status: string
  params: Record<string, string>
  tags: Record<string, string>
  metrics: Record<string, number>
  history: Record<string, Point[]>
}
type Metric = { step: number; loss: number; token_accuracy: number | null; valid_loss: number | null }

const run = promisify(execFile)

const readRuns = `
import json, sys
from mlflow.tracking import MlflowClient
client = MlflowClient(sys.argv[1])
experiment = client.get_experiment_by_name(sys.argv[2])
runs = []
for run in client.search_runs([experiment.experiment_id]) if experiment else []:
    history = {key: [[point.step, point.value] for point in client.get_metric_history(run.info.run_id, key)] for key in run.data.metrics}
    runs.append({"status": run.info.status, "params": run.data.params, "tags": run.data.tags, "metrics": run.data.metrics, "history": history})
print(json.dumps(runs))
`
const readEventFile = `
import json, sys
from tensorboard.backend.event_processing.event_accumulator import EventAccumulator
events = EventAccumulator(sys.argv[1], size_guidance={"scalars": 0}).Reload()
print(json.dumps({tag: [[point.step, point.value] for point in events.Scalars(tag)] for tag in events.Tags()["scalars"]}))
`

suite('a tracker', async () => {
  const api = await openAccount()
  const env = await clientEnv(join(root, 'test/clients/requirements-trackers.txt'), { space: '3 GB' })
  const python = join(env, 'bin/python')
  const folder = mkdtempSync(join(tmpdir(), 'anneal-mlflow-'))
  const port = await freePort()
  const trackingUri = `http://127.0.0.1:${port}`
  let server: ChildProcess
  after(() => {
    killServer()
    rmSync(folder, { recursive: true, force: true })
  })

  async function startServer() {
    const store = ['--backend-store-uri', `sqlite:///${folder}/mlflow.db`, '--artifacts-destination', folder]
    const command = [
      '-m',
      'mlflow',
      'server',
      '--workers',
      '1',
      '--host',
      '127.0.0.1',
      '--port',
      String(port),
      ...store,
    ]
    server = spawn(python, command, {
      cwd: folder,
      stdio: 'ignore',
      detached: true,
      env: { ...process.env, MLFLOW_DISABLE_TELEMETRY: 'true' },
    })
    await untilSucceeds(async () => assert.ok((await fetch(`${trackingUri}/health`)).ok))
  }

  function killServer() {
    if (server.pid !== undefined && server.exitCode === null && server.signalCode === null)
      process.kill(-server.pid, 'SIGKILL')
  }

  async function runsOf(experiment: string): Promise<Run[]> {
    const { stdout } = await run(python, ['-c', readRuns, trackingUri, experiment], { maxBuffer: 1e8 })
    return JSON.parse(stdout) as Run[]
  }

  test('has every point once after kills of the worker and of MLflow, and the scores and the link of the model', async () => {
    await startServer()
    const experiment = 'kills'
    const id = await api.train({
      data: sampleRows,
      custom_model_name: 'tracked',
      eval_data: sampleRows.slice(0, 8),
      finetune_args: { max_steps: 400, save_steps: 50, eval_steps: 50 },
      integrations: [{ type: 'mlflow', tracking_uri: trackingUri, experiment }],
    })
    await eventually(async () => ((await runsOf(experiment))[0]?.history['loss']?.length ?? 0) > 1)
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    await api.until(id, ({ history }) => history.includes('"step":150'))
    killServer()
    await api.until(id, ({ history }) => history.includes('"step":250'))
    await startServer()
    process.kill(processId(connection(), 'worker'), 'SIGKILL')
    const job = await api.untilStatus(id, 'COMPLETED')
    const [found, ...others] = await eventually(async () => {
      const runs = await runsOf(experiment)
      return runs[0]?.status === 'FINISHED' && runs
    })
    assert.deepEqual(others, [])
    assert.ok(found)

    const { metrics } = await api.get<{ metrics: Metric[] }>(`/v1/train/jobs/${id}/metrics`)
    assert.ok(metrics.length >= 49, `${metrics.length} steps: the first ten, and each tenth`)
    const seriesOf = (key: 'loss' | 'token_accuracy' | 'valid_loss') =>
      metrics.flatMap(({ step, [key]: value }): Point[] => (value === null ? [] : [[step, value]]))
    for (const key of ['loss', 'token_accuracy', 'valid_loss'] as const)
      assert.deepEqual(found.history[key], seriesOf(key), key)

    assert.deepEqual([found.params['base_model'], found.params['max_steps']], [connection().baseModel, '400'])
    assert.deepEqual([found.tags['anneal.job_id'], found.tags['anneal.model_name']], [String(id), job.model_name])
    const link = found.tags['anneal.model_url'] ?? ''
    const model = await fetch(link, { headers: { authorization: `Bearer ${api.apiKey}` } })
    assert.equal(model.status, 200, link)
    const { summary } = await api.get<{ summary: Record<string, { tuned: { mean: number } }> }>(
      `/v1/train/jobs/${id}/eval`,
    )
    for (const [grader, { tuned }] of Object.entries(summary))
      assert.equal(found.metrics[`eval/${grader}/tuned`], tuned.mean, grader)

    const file = await fetch(`${connection().apiUrl}/v1/train/jobs/${id}/tensorboard`, {
      headers: { authorization: `Bearer ${api.apiKey}` },
    })
    const [, name = ''] = /filename="(.+)"/.exec(file.headers.get('content-disposition') ?? '') ?? []
    writeFileSync(join(folder, name), Buffer.from(await file.arrayBuffer()))
    const { stdout } = await run(python, ['-c', readEventFile, join(folder, name)], { maxBuffer: 1e8 })
    const shown = JSON.parse(stdout) as Record<string, Point[]>
    for (const key of ['loss', 'token_accuracy', 'valid_loss'] as const)
      assert.deepEqual(
        shown[key],
        seriesOf(key).map(([step, value]) => [step, Math.fround(value)]),
        key,
      )
  })

  test('becomes an event when its server does not answer, and does not hold up the job', async () => {
    const id = await api.train({
      data: sampleRows,
      finetune_args: { max_steps: 20 },
      integrations: [{ type: 'mlflow', tracking_uri: `http://127.0.0.1:${await freePort()}` }],
    })
    await api.untilStatus(id, 'COMPLETED')
    const { events } = await api.get<{ events: { reason: string | null; message: string | null }[] }>(
      `/v1/train/jobs/${id}/events`,
    )
    const told = events.filter(({ reason }) => reason === 'tracker_failing')
    assert.equal(told.length, 1)
    assert.match(told[0]?.message ?? '', /127\.0\.0\.1:\d+ takes nothing\. The connection failed: ECONNREFUSED/)
  })
})
