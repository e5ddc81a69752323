import assert from 'node:assert/strict'
import { existsSync, readFileSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { lives, pidOf, runFile, shellCompute, shellRun, testHome, untilLogged, waits } from './support.ts'
import { until } from '../../support/eventually.ts'

const run = { name: 'ft-1-a1' }

test('asks by SIGTERM first, and the program may end in its own way', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun(run.name, 'trap "echo saved; exit 143" TERM; echo ready; while :; do sleep 0.05; done'))
  await untilLogged(home, run.name, 'ready')
  const terminated = await compute.terminate(run, { graceMs: 10_000, logTailBytes: 8 })
  assert(terminated.end.state === 'failed' && terminated.end.exitCode === 143)
  assert.equal(terminated.logTail, 'y\nsaved\n')
  assert.equal(runFile(home, run.name, 'log'), 'ready\nsaved\n')
  assert.equal(runFile(home, run.name, 'exit'), '143')
  assert(!lives(pidOf(home, run.name)) && !lives(pidOf(home, run.name, 'watcher')))
  assert(!existsSync(join(home, 'runs', run.name, 'work')))
  const state = await compute.probe(run)
  assert(state.state === 'failed' && state.reason === 'killed')
  await compute.terminate(run, { graceMs: 10_000 })
})

test('kills a stubborn program and its children after the grace period, not before', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun(run.name, 'trap "" TERM; sleep 600 & echo child $!; while :; do sleep 0.1; done'))
  await untilLogged(home, run.name, 'child')
  const child = Number(/child (\d+)/.exec(runFile(home, run.name, 'log'))?.[1])
  const startedAtMs = performance.now()
  await compute.terminate(run, { graceMs: 400 })
  assert(performance.now() - startedAtMs >= 390)
  assert(!lives(child) && !lives(pidOf(home, run.name)))
  assert.equal(runFile(home, run.name, 'exit'), '137')
})

test('a repeat, also by another worker, does not prolong the grace', async (t) => {
  const home = testHome(t)
  const first = shellCompute(home)
  await first.launch(shellRun(run.name, 'trap "" TERM; echo ready; while :; do sleep 0.1; done'))
  await untilLogged(home, run.name, 'ready')
  const interruption = new AbortController()
  const interrupted = first.terminate(run, { graceMs: 600_000, signal: interruption.signal })
  const mark = join(home, 'runs', run.name, 'terminated')
  await until('the end is asked for', () => existsSync(mark) && readFileSync(mark, 'utf8') !== '')
  interruption.abort()
  await assert.rejects(interrupted, { name: 'AbortError' })
  assert(lives(pidOf(home, run.name)))
  // As if the end had been asked for at the machine's start, with a grace that is over now. A repeat that began the grace
  // anew would take as long as the machine has been up.
  const graceMs = Number(readFileSync(mark, 'utf8')) - 1
  writeFileSync(mark, '1')
  await shellCompute(home).terminate(run, { graceMs })
  assert(!lives(pidOf(home, run.name)))
})

test('a clock that is set forward between two calls takes nothing of the grace away', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun(run.name, 'trap "" TERM; echo ready; while :; do sleep 0.1; done'))
  await untilLogged(home, run.name, 'ready')
  const askedAtMs = performance.now()
  await assert.rejects(compute.terminate(run, { graceMs: 60_000, signal: AbortSignal.timeout(100) }))
  t.mock.timers.enable({ apis: ['Date'], now: Date.now() + 6 * 3_600_000 })
  await compute.terminate(run, { graceMs: 1500 })
  assert(performance.now() - askedAtMs >= 1490)
})

test('ends the processes that a dead program and a dead watcher left behind', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  await compute.launch(shellRun(run.name, 'sleep 600 & echo child $!; wait'))
  await untilLogged(home, run.name, 'child')
  const child = Number(/child (\d+)/.exec(runFile(home, run.name, 'log'))?.[1])
  process.kill(pidOf(home, run.name, 'watcher'), 'SIGKILL')
  process.kill(pidOf(home, run.name), 'SIGKILL')
  await until('both are gone', () => !lives(pidOf(home, run.name)))
  assert(lives(child))
  await compute.terminate(run, { graceMs: 5_000 })
  assert(!lives(child))
  assert(!existsSync(join(home, 'runs', run.name, 'work')))
})

test('launch and terminate at once end with nothing running', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  for (let job = 0; job < 5; job++) {
    const name = `ft-${job}-a1`
    await Promise.all([compute.launch(shellRun(name, waits)), compute.terminate({ name }, { graceMs: 0 })])
    await compute.terminate({ name }, { graceMs: 0 })
    assert.equal((await compute.probe({ name })).state, 'failed')
    if (existsSync(join(home, 'runs', name, 'pid'))) assert(!lives(pidOf(home, name)))
  }
})
