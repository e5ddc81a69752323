// Records the histories that replay.test.ts replays, from a running stack:
//   ANNEAL_TEST_HOME=DIR node test/replay/record.ts
// With ANNEAL_RECORD_HISTORIES=1, test/workflows/long-fine-tune.deep.test.ts records `continued-*`, and
// test/internal-http/operator-jobs.stack.test.ts records `told-why-it-waits`.
// Add to them when a workflow gains a path. After a release keep the old ones: they stand for jobs that run during a deploy.
// v0.1.0 recorded all but `reaper`, `retention` and `told-why-it-waits`.
import assert from 'node:assert/strict'
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import { begunEarlier } from '../support/database.ts'
import { pidOf } from '../support/processes.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'
import { client, saveHistory } from './save-history.ts'
import { eventually } from '../support/eventually.ts'

const api = await openAccount()
const train = () => api.train({ data: sampleRows, finetune_args: shortRun })
const trained = (id: number, step: number) => api.until(id, ({ history }) => history.includes(`"step":${step}`))
const killTrainer = (id: number, attempt: number) =>
  process.kill(pidOf(`ft-${id}-a${attempt}`) ?? assert.fail('it has no trainer'), 'SIGKILL')

/** Until the worker has seen that it began so much earlier. */
async function hold(id: number, hours: number) {
  const trainer = pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer')
  process.kill(trainer, 'SIGSTOP')
  await begunEarlier(id, hours)
  const seen = () => api.get<{ attempts: { cause: string | null }[] }>(`/v1/train/jobs/${id}/attempts`)
  await eventually(async () => (await seen()).attempts[0]?.cause)
  process.kill(trainer, 'SIGCONT')
}

const record = (name: string, id: number) => saveHistory(name, fineTuneWorkflowId(id))

const completed = await train()
await api.untilStatus(completed, 'COMPLETED')
await record('completed', completed)

const cancelled = await train()
await trained(cancelled, 20)
await api.post(`/v1/train/jobs/${cancelled}/cancel`)
await api.untilStatus(cancelled, 'CANCELLED')
await record('cancelled', cancelled)
await api.post(`/v1/train/jobs/${cancelled}/resume`)
await api.untilStatus(cancelled, 'COMPLETED')
await record('resumed', cancelled)

const killed = await train()
await trained(killed, 10)
killTrainer(killed, 1)
await trained(killed, 40)
killTrainer(killed, 2)
await api.untilStatus(killed, 'COMPLETED')
await record('killed-twice', killed)

const native = await train()
await api.untilStatus(native, 'TRAINING MODEL')
await client.workflow.getHandle(`fine-tune-${native}`).cancel()
await api.untilStatus(native, 'CANCELLED')
await record('cancelled-in-temporal', native)

const broken = await api.train({ upload_file_path: await api.upload('broken', 'not a data set') })
await api.until(broken, ({ status }) => status === 'FAILED')
await record('data-error', broken)

// From here on with ANNEAL_SLOTS=1 ANNEAL_STALL_MINUTES=1 ANNEAL_MAX_JOB_HOURS=24, as the stack of the tests has them.
const sliced = await train()
await trained(sliced, 10)
const other = await train()
await api.until(other, ({ status_reason }) => status_reason === 'waiting_for_slot')
await hold(sliced, 5)
await api.untilStatus(other, 'COMPLETED')
await api.untilStatus(sliced, 'COMPLETED')
await record('time-slice', sliced)
await record('waited', other)

const stalled = await train()
await trained(stalled, 20)
process.kill(pidOf(`ft-${stalled}-a1`) ?? assert.fail('it has no trainer'), 'SIGSTOP')
await api.until(stalled, ({ resume_count }) => resume_count === 1)
await api.untilStatus(stalled, 'COMPLETED')
await record('stalled', stalled)

const late = await train()
await trained(late, 20)
await hold(late, 25)
await api.untilStatus(late, 'PARTIALLY COMPLETED')
await record('deadline', late)

const saved = await api.train({
  data: sampleRows,
  finetune_args: shortRun,
  eval_data: Array.from({ length: 10 }, () => sampleRows).flat(),
})
await api.until(saved, ({ status }) => status === 'EVALUATING MODEL', { everyMs: 5 })
await api.post(`/v1/train/jobs/${saved}/cancel`)
await api.untilStatus(saved, 'CANCELLED')
await api.post(`/v1/train/jobs/${saved}/resume`)
await api.untilStatus(saved, 'COMPLETED')
await record('evaluated-by-resume', saved)

await import('./record-housekeeping.ts')
await import('./record-batches.ts')
