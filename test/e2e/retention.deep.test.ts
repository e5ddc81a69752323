// What has done its work goes, with its bytes; what may still be needed stays.
import { Client, Connection } from '@temporalio/client'
import assert from 'node:assert/strict'
import { after, suite, test } from 'node:test'
import { connectDatabase } from '../../src/repositories/database.ts'
import { removeOrphanedObjects } from '../../activities/orphaned-objects.ts'
import { createStorage } from '../../src/storage/storage.ts'
import { retentionWorkflowId, runNowSignal, setPausedSignal } from '../../workflows/contract.ts'
import { sampleRows, shortRun } from '../support/rows.ts'
import { connection, openAccount } from '../support/stack.ts'
import { eventually } from '../support/eventually.ts'

suite('retention', async () => {
  const api = await openAccount()
  const temporal = await Connection.connect({ address: connection().temporalAddress })
  const client = new Client({ connection: temporal })
  const database = connectDatabase(connection().databaseUrl, { poolSize: 2 })
  const { endpoint, ...rest } = connection().s3
  const storage = createStorage({ endpoint, region: 'us-east-1', ...rest })
  const retention = client.workflow.getHandle(retentionWorkflowId)
  await eventually(() => retention.describe().catch(() => null))
  // Its own time, every full hour, may come while a test looks at what is still there.
  await retention.signal(setPausedSignal, true)
  after(async () => {
    await retention.signal(setPausedSignal, false)
    await temporal.close()
    await database.close()
  })

  const checkpointsOf = (id: number) => database.artifacts.listUsable(id, 'checkpoint', 100)

  test('keeps the newest checkpoint of a complete job, and two of a resumable job, which then goes on', async () => {
    // Long enough that there are so many though one that is late is left out for a newer one.
    const longer = { ...shortRun, max_steps: 120 }
    const complete = await api.train({ data: sampleRows, finetune_args: longer })
    const { model_name } = await api.untilStatus(complete, 'COMPLETED')
    const cancelled = await api.train({ data: sampleRows, finetune_args: longer })
    await eventually(async () => (await checkpointsOf(cancelled)).length >= 3)
    await api.post(`/v1/train/jobs/${cancelled}/cancel`)
    await api.untilStatus(cancelled, 'CANCELLED')

    const [ofComplete, ofCancelled] = [await checkpointsOf(complete), await checkpointsOf(cancelled)]
    assert.ok(ofComplete.length >= 5 && ofCancelled.length >= 3)
    await retention.signal(runNowSignal)
    await eventually(async () => (await checkpointsOf(complete)).length === 1)
    await eventually(async () => (await checkpointsOf(cancelled)).length === 2)
    assert.deepEqual(
      (await checkpointsOf(cancelled)).map(({ id }) => id),
      ofCancelled.slice(0, 2).map(({ id }) => id),
    )
    for (const { key } of [...ofComplete.slice(1), ...ofCancelled.slice(2)].flatMap(({ files }) => files))
      // Hidden before they are removed.
      await eventually(async () => (await storage.stat(key)) === null)
    for (const { key } of ofCancelled.slice(0, 2).flatMap(({ files }) => files)) assert.ok(await storage.stat(key), key)

    // Everything that is left is named: it is needed by the model, or by the resume.
    await removeOrphanedObjects({ database, storage }, { olderThanMs: 0, maxShare: 1 })
    const links = await api.get<{ files: { name: string; url: string }[] }>(`/v1/models/${model_name}/download`)
    for (const { name, url } of links.files) {
      assert.equal((await fetch(url)).status, 200)
      // The card is written anew for each download, and is no copy of a file of the job.
      if (name === 'README.md') continue
      const key = new URL(url).pathname.slice(`/${storage.bucket}/`.length)
      assert.equal((await storage.metadata(key))['job'], String(complete))
    }
    await api.post(`/v1/train/jobs/${cancelled}/resume`)
    await api.untilStatus(cancelled, 'COMPLETED')
  })
})
