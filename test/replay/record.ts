// Records the histories that replay.test.ts replays, from a running stack:
//   ANNEAL_TEST_HOME=DIR node test/replay/record.ts
// Add to them when a workflow gains a path; keep the old ones: they stand for the jobs that run while a deploy happens.
import assert from 'node:assert/strict'
import { fineTuneWorkflowId } from '../../src/domain/identifiers.ts'
import { begunEarlier } from '../support/database.ts'
import { pidOf } from '../support/processes.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { openAccount } from '../support/stack.ts'
import { client, saveHistory } from './save-history.ts'

const api = await openAccount()
const train = () => api.train({ data: sampleRows, finetune_args: shortRun })
const trained = (id: number, step: number) => api.until(id, ({ history }) => history.includes(`"step":${step}`))
const killTrainer = (id: number, attempt: number) =>
  process.kill(pidOf(`ft-${id}-a${attempt}`) ?? assert.fail('it has no trainer'), 'SIGKILL')

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

// Needs ANNEAL_MAX_JOB_HOURS=24 or less, as the stack of the tests has it.
const late = await train()
await trained(late, 20)
await begunEarlier(late, 25)
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

await import('./record-upkeep.ts')
await import('./record-batches.ts')
