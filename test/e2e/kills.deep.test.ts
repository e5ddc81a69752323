// kill -9 of the service's processes in the middle of one run, and of a trainer whose newest checkpoint is torn.
import assert from 'node:assert/strict'
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { processId } from '../../src/embedded/connection.ts'
import { tunedModelName } from '../../src/domain/identifiers.ts'
import type { Artifact } from '../../src/domain/training-job.ts'
import { connectDatabase } from '../../src/repositories/database.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { isUploading, withResumes } from '../support/database.ts'
import { livingTrainers, pidOf } from '../support/processes.ts'
import { sampleRows } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

suite('kill -9', async () => {
  const api = await openAccount()

  test('leaves a single trainer when every server is killed, and the job completes', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 200, save_steps: 100 } })
    await api.untilStatus(id, 'TRAINING MODEL')
    const trainer = pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer')
    const watching = new AbortController()
    let most = 0
    const watched = (async () => {
      while (!watching.signal.aborted) {
        most = Math.max(most, livingTrainers(id).length)
        await sleep(20)
      }
    })()
    for (const name of ['api', 'worker', 'temporal', 'postgres'] as const) {
      const pid = processId(connection(), name)
      process.kill(pid, 'SIGKILL')
      await eventually(() => {
        const now = connection().processes[name]
        return now !== pid && now
      })
    }
    const job = await api.untilStatus(id, 'COMPLETED')
    watching.abort()
    await watched
    assert.equal(most, 1)
    assert.equal(job.resume_count, 0)
    assert.equal(pidOf(`ft-${id}-a1`), trainer)
    assert.deepEqual(
      (await api.history(id)).map(({ step }) => step),
      Array.from({ length: 20 }, (_, i) => (i + 1) * 10),
    )
  })

  test('publishes the newest intact checkpoint of a killed trainer without resumes left', async () => {
    const id = await api.train({ data: sampleRows, finetune_args: { max_steps: 400, save_steps: 10 } })
    await api.until(id, ({ history }) => history.includes('"step":40'))
    const database = connectDatabase(connection().databaseUrl, { poolSize: 1 })
    const trainer = pidOf(`ft-${id}-a1`) ?? assert.fail('it has no trainer')
    const [newest, older] = await eventually(async () => {
      process.kill(trainer, 'SIGSTOP')
      // The service may still commit a checkpoint that the trainer has sent. We ask for that before we list: a checkpoint
      // that is committed between the two would be missing in the list, and be the one that is published.
      const isSettled = !(await isUploading(id))
      const usable = await database.artifacts.listUsable(id, 'checkpoint')
      if (isSettled && usable.length >= 2) return usable
      process.kill(trainer, 'SIGCONT')
      return null
    })
    await withResumes(id, 0)
    const served = ['adapter_model.safetensors', 'adapter_config.json', 'anneal.json']
    const filesOf = (artifact?: Artifact) => artifact?.files.filter(({ name }) => served.includes(name)) ?? []
    await database.close()
    const { endpoint, ...rest } = connection().s3
    const storage = createStorage({ endpoint, region: 'us-east-1', ...rest })
    for (const { key } of filesOf(newest)) await storage.write(key, Buffer.from('torn'))
    process.kill(trainer, 'SIGKILL')
    const job = await api.untilStatus(id, 'PARTIALLY COMPLETED')
    assert.equal(job.status_reason, 'resume_limit_reached')
    assert.equal(job.model_name, tunedModelName(id, filesOf(older)))
  })
})
