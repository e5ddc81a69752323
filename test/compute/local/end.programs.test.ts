import assert from 'node:assert/strict'
import { existsSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import type { RunState } from '../../../src/compute/run.ts'
import {
  bystander,
  lives,
  patience,
  pidOf,
  runFile,
  shellCompute,
  shellRun,
  testHome,
  untilLogged,
  waits,
} from './support.ts'
import { until } from '../../support/eventually.ts'

const leavesChild = '(trap "" TERM; echo child $(exec sh -c \'echo $PPID\'); sleep 600) & sleep 0.2; exit 3'

async function childPid(home: string, name: string): Promise<number> {
  await untilLogged(home, name, 'child ')
  return Number(/child (\d+)/.exec(runFile(home, name, 'log'))?.[1])
}

test('a run has not ended while a child of its program lives', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home, { orphanGraceMs: 600_000 })
  await compute.launch(shellRun('ft-1-a1', leavesChild))
  const child = await childPid(home, 'ft-1-a1')
  await until('the program has ended', () => existsSync(join(home, 'runs', 'ft-1-a1', 'exit')))
  assert.equal((await compute.probe({ name: 'ft-1-a1' })).state, 'running')
  process.kill(child, 'SIGKILL')
  const state = await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  assert(state.state === 'failed' && state.exitCode === 3)
})

test('the watcher ends a child that its program left', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home, { orphanGraceMs: 100 })
  await compute.launch(shellRun('ft-1-a1', leavesChild))
  const state = await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  assert(!lives(await childPid(home, 'ft-1-a1')))
  assert(state.state === 'failed' && state.exitCode === 3)
})

test('with watcher and program killed, the watching worker ends their processes', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home, { orphanGraceMs: 100 })
  await compute.launch(shellRun('ft-1-a1', "(echo child $(exec sh -c 'echo $PPID'); sleep 600) & wait"))
  const child = await childPid(home, 'ft-1-a1')
  process.kill(pidOf(home, 'ft-1-a1', 'watcher'), 'SIGKILL')
  process.kill(pidOf(home, 'ft-1-a1'), 'SIGKILL')
  await until('the program is gone', () => !lives(pidOf(home, 'ft-1-a1')))
  assert.equal((await compute.probe({ name: 'ft-1-a1' })).state, 'running')
  const state = await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  assert(!lives(child))
  assert(state.state === 'failed' && state.reason === 'lost')
})

test('a program killed by SIGKILL is seen, with its signal', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  const { uid } = await compute.launch(shellRun('ft-1-a1', waits))
  await untilLogged(home, 'ft-1-a1', 'ready')
  const states: RunState[] = []
  const end = compute.watch({ name: 'ft-1-a1', uid }, { signal: patience(), onState: (state) => states.push(state) })
  await until('the run is seen running', () => states.length === 1)
  process.kill(pidOf(home, 'ft-1-a1'), 'SIGKILL')
  const state = await end
  assert(state.state === 'failed')
  assert.deepEqual([state.exitCode, state.signal, state.reason], [137, 'SIGKILL', 'killed'])
  assert.deepEqual(states, [{ state: 'running', uid }, state])
})

test('a run survives its watcher; its end is then lost but noticed', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  const { uid } = await compute.launch(shellRun('ft-1-a1', waits))
  await untilLogged(home, 'ft-1-a1', 'ready')
  const end = compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  process.kill(pidOf(home, 'ft-1-a1', 'watcher'), 'SIGKILL')
  await until('the watcher is gone', () => !lives(pidOf(home, 'ft-1-a1', 'watcher')))
  assert.deepEqual(await compute.probe({ name: 'ft-1-a1' }), { state: 'running', uid })
  process.kill(pidOf(home, 'ft-1-a1'), 'SIGKILL')
  const state = await end
  assert(state.state === 'failed')
  assert.deepEqual([state.exitCode, state.reason], [null, 'lost'])
  assert(!existsSync(join(home, 'runs', 'ft-1-a1', 'exit')))
})

test('a watcher outlives SIGTERM to record how the program ended', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun('ft-1-a1', 'trap "exit 143" TERM; echo ready; while :; do sleep 0.05; done'))
  await untilLogged(home, 'ft-1-a1', 'ready')
  process.kill(pidOf(home, 'ft-1-a1', 'watcher'), 'SIGTERM')
  process.kill(pidOf(home, 'ft-1-a1'), 'SIGTERM')
  const state = await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  assert(state.state === 'failed')
  assert.deepEqual([state.exitCode, state.signal, state.reason], [143, null, 'exited'])
})

test('a pid that was given to another process is not taken for the program', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun('ft-1-a1', 'sleep 0.1'))
  await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  const other = bystander(t)
  writeFileSync(join(home, 'runs', 'ft-1-a1', 'pid'), String(other.pid))
  assert.equal((await compute.probe({ name: 'ft-1-a1' })).state, 'succeeded')
  await compute.terminate({ name: 'ft-1-a1' }, { graceMs: 0 })
  assert(lives(other.pid))

  const [bootId] = runFile(home, 'ft-1-a1', 'pid.started').split(' ')
  writeFileSync(
    join(home, 'runs', 'ft-1-a1', 'pid.started'),
    runFile(home, 'ft-1-a1', 'pid.started').replace(bootId ?? '', 'another-boot'),
  )
  assert.equal((await compute.probe({ name: 'ft-1-a1' })).state, 'succeeded')
})
