import assert from 'node:assert/strict'
import { mkdirSync, readdirSync, renameSync, rmSync, utimesSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RunState } from '../../../src/compute/run.ts'
import { patience, pidOf, shellCompute, shellModelServers, shellRun, testHome, untilLogged, waits } from './support.ts'
import { until } from '../../support/eventually.ts'

const dayMs = 24 * 3600_000

test('logs are read on from where the last reading ended, or from the end', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  const run = { name: 'ft-1-a1' }
  assert.equal(await compute.readLogs(run), null)
  await compute.launch(shellRun(run.name, 'printf "one\\n"; printf "zwölf\\n" >&2'))
  await compute.watch(run, { signal: patience() })
  assert.deepEqual(await compute.readLogs(run), { text: 'one\nzwölf\n', nextOffsetBytes: 11, sizeBytes: 11 })
  const first = await compute.readLogs(run, { limitBytes: 7 })
  assert.deepEqual(first, { text: 'one\nzw', nextOffsetBytes: 6, sizeBytes: 11 })
  assert.equal((await compute.readLogs(run, { offsetBytes: 6 }))?.text, 'ölf\n')
  assert.equal((await compute.readLogs(run, { offsetBytes: -4 }))?.text, 'lf\n')
  assert.deepEqual(await compute.readLogs(run, { offsetBytes: 99 }), { text: '', nextOffsetBytes: 11, sizeBytes: 11 })
  assert.equal(await compute.readLogs({ ...run, uid: 'another' }), null)
})

test('a log that grows too long loses its middle', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home, { logLimitBytes: 2_000 })
  const run = { name: 'ft-1-a1' }
  await compute.launch(shellRun(run.name, 'echo first; seq 1000; sleep 2.5; echo last'))
  await compute.watch(run, { signal: patience() })
  const log = await compute.readLogs(run)
  assert(log && log.sizeBytes < 2_000)
  assert.match(log.text, /^first\n1\n2\n[^]*\[this log passed 2000 bytes[^]*\nlast\n$/)
})

test('lists runs by label and program, with their states', async (t) => {
  const home = testHome(t)
  const [compute, modelServers] = [shellCompute(home), shellModelServers(home)]
  await compute.launch(shellRun('ft-1-a1', 'exit 0', { labels: { kind: 'attempt', job: '1' } }))
  await compute.launch(shellRun('ft-2-a1', waits, { labels: { kind: 'attempt', job: '2' } }))
  await modelServers.launch({ ...shellRun('model-server-x-g1', waits), labels: { server: 'x', launch: '1' } })
  await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  const attempts = await compute.list({ kind: 'attempt' })
  assert.deepEqual(Object.fromEntries(attempts.map((run) => [run.name, run.state.state])), {
    'ft-1-a1': 'succeeded',
    'ft-2-a1': 'running',
  })
  assert.equal((await compute.list()).length, 2)
  assert.deepEqual(
    (await modelServers.list()).map((run) => run.name),
    ['model-server-x-g1'],
  )
})

test('forgets runs a day after their end, never a living one', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun('ft-1-a1', 'exit 0'))
  await compute.launch(shellRun('ft-2-a1', waits))
  await compute.launch(shellRun('ft-3-a1', 'exit 0'))
  await compute.launch(shellRun('ft-4-a1', waits))
  for (const name of ['ft-1-a1', 'ft-3-a1']) await compute.watch({ name }, { signal: patience() })
  for (const file of ['watcher', 'pid']) process.kill(pidOf(home, 'ft-4-a1', file), 'SIGKILL')
  await compute.watch({ name: 'ft-4-a1' }, { signal: patience() })
  mkdirSync(join(home, 'runs', '.new-ft-5-a1-x'))
  await until('the watcher has tidied up', () => !readdirSync(join(home, 'runs', 'ft-1-a1')).includes('work'))
  const longAgo = new Date(Date.now() - 2 * dayMs)
  for (const name of ['ft-1-a1', 'ft-2-a1', 'ft-4-a1', '.new-ft-5-a1-x'])
    utimesSync(join(home, 'runs', name), longAgo, longAgo)

  assert.deepEqual(await compute.removeEndedRuns({ endedForMs: dayMs }), ['ft-1-a1'])
  assert.deepEqual(readdirSync(join(home, 'runs')).toSorted(), ['ft-2-a1', 'ft-3-a1', 'ft-4-a1'])
  assert.deepEqual(await compute.probe({ name: 'ft-1-a1' }), { state: 'gone' })
  assert.equal((await compute.probe({ name: 'ft-4-a1' })).state, 'failed')
})

test('a folder nothing can be read from is a lost run', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  mkdirSync(join(home, 'runs', 'ft-1-a1'))
  writeFileSync(join(home, 'runs', 'ft-1-a1', 'run.json'), '{"name": "ft-')
  const state = await compute.probe({ name: 'ft-1-a1', uid: 'u' })
  assert(state.state === 'failed' && state.reason === 'lost')
  await compute.terminate({ name: 'ft-1-a1' }, { graceMs: 0 })
})

test('runs that cannot be looked at are unreachable, never over', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  const run = { name: 'ft-1-a1' }
  const { uid } = await compute.launch(shellRun(run.name, waits))
  await untilLogged(home, run.name, 'ready')
  const states: RunState['state'][] = []
  const stop = new AbortController()
  const end = compute.watch(run, { signal: stop.signal, onState: ({ state }) => states.push(state) })
  await until('seen running', () => states.at(-1) === 'running')

  renameSync(join(home, 'runs'), join(home, 'elsewhere'))
  assert.equal((await compute.probe(run)).state, 'unreachable')
  writeFileSync(join(home, 'runs'), 'not a folder')
  assert.equal((await compute.probe(run)).state, 'unreachable')
  await until('seen unreachable', () => states.at(-1) === 'unreachable')
  await assert.rejects(compute.launch(shellRun(run.name, waits)), { code: 'unavailable' })
  await assert.rejects(compute.terminate(run, { graceMs: 0 }), { code: 'unavailable' })
  await assert.rejects(compute.list(), { code: 'unavailable' })

  rmSync(join(home, 'runs'))
  renameSync(join(home, 'elsewhere'), join(home, 'runs'))
  await until('seen running again', () => states.at(-1) === 'running')
  assert.deepEqual(await compute.probe(run), { state: 'running', uid })
  assert.deepEqual(states, ['running', 'unreachable', 'running'])
  stop.abort()
  await assert.rejects(end)
})

test('there is one slot for four cores, at least one, unless more are asked for', (t) => {
  const home = testHome(t)
  const { slots } = shellCompute(home).capacity()
  assert(slots !== null && slots >= 1)
  assert.deepEqual(shellCompute(home, { slots: 7 }).capacity(), { slots: 7 })
})
