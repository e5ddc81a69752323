// A run that writes more than its share of disk is ended, and nothing of it stays.
import assert from 'node:assert/strict'
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { until } from '../../support/eventually.ts'
import { lives, patience, pidOf, shellCompute, shellModelServers, shellRun, testHome } from './support.ts'

const limitBytes = 4 << 20
const resources = { cpuCount: 1, gpuCount: 0, diskBytes: limitBytes }
const writes = (megabytes: number) => `dd if=/dev/zero of=fill bs=1048576 count=${megabytes} 2> /dev/null`

test('a run above its share is ended at once, with its own reason and without its files', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  const run = { name: 'ft-1-a1' }
  await compute.launch(shellRun(run.name, `trap "" TERM; ${writes(6)}; sleep 600`, { resources }))
  const end = await compute.watch(run, { signal: patience() })
  assert.partialDeepStrictEqual(end, { state: 'failed', reason: 'out_of_disk', exitCode: 137, signal: 'SIGKILL' })
  assert(!lives(pidOf(home, run.name)))
  await until('its files are gone', () => !existsSync(join(home, 'runs', run.name, 'work')))
  assert.deepEqual(await compute.probe(run), end)
})

test('a run below its share ends as it does; so does one without a limit', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  const free = { cpuCount: 1, gpuCount: 0 }
  for (const [name, megabytes, given] of [
    ['ft-1-a1', 2, resources],
    ['ft-1-a2', 6, free],
  ] as const) {
    // Longer than the watcher's beat.
    await compute.launch(shellRun(name, `${writes(megabytes)}; sleep 3; exit 3`, { resources: given }))
    assert.partialDeepStrictEqual(await compute.watch({ name }, { signal: patience() }), {
      state: 'failed',
      reason: 'exited',
      exitCode: 3,
    })
  }
})

test('each replica of a model server has the share, and the server is ended beyond that of all', async (t) => {
  const servers = shellModelServers(testHome(t))
  const labels = { server: 'model-server-tiny', launch: '1' }
  for (const [name, megabytes, end] of [
    ['model-server-tiny-g1', 6, { reason: 'exited', exitCode: 3 }],
    ['model-server-tiny-g2', 10, { reason: 'out_of_disk', signal: 'SIGKILL' }],
  ] as const) {
    const script = `${writes(megabytes)}; sleep 3; exit 3`
    await servers.launch({ ...shellRun(name, script, { resources }), labels, replicas: 2 })
    assert.partialDeepStrictEqual(await servers.watch({ name }, { signal: patience() }), end)
  }
})
