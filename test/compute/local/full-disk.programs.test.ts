// Runs on a disk of their own without any room left.
import assert from 'node:assert/strict'
import { existsSync, mkdtempSync, readdirSync, rmdirSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { mountDisk, unmountDisk } from '../../lab/faults/disk.ts'
import { lives, patience, pidOf, runFile, shellCompute, shellRun, testHome, untilLogged, waits } from './support.ts'
import { until } from '../../support/eventually.ts'

const run = { name: 'ft-1-a1' }
const fills = 'echo begins; cat /dev/zero > fill 2> /dev/null; echo full'
const sizeBytes = 1 << 20

/** Null, and the test is skipped, where no disk can be mounted. */
function smallDisk(t: TestContext): string | null {
  const home = mkdtempSync(join(tmpdir(), 'anneal-disk-'))
  if (!mountDisk(home, sizeBytes)) {
    rmdirSync(home)
    t.skip('a disk of its own needs root')
    return null
  }
  t.after(async () => {
    await shellCompute(home)
      .terminate(run, { graceMs: 0 })
      .finally(() => unmountDisk(home))
    rmdirSync(home)
  })
  return home
}

const workDir = (home: string) => join(home, 'runs', run.name, 'work')

function fillByOthers(home: string) {
  assert.throws(() => writeFileSync(join(home, 'of-others'), Buffer.alloc(2 * sizeBytes)), { code: 'ENOSPC' })
}

test('a run that fills its disk ends when it is asked to, and leaves the room it took', async (t) => {
  const home = smallDisk(t)
  if (!home) return
  const compute = shellCompute(home)
  const { uid } = await compute.launch(shellRun(run.name, `${fills}; exec sleep 600`))
  await untilLogged(home, run.name, 'full')
  const { end } = await compute.terminate(run, { graceMs: 10_000 })
  assert(!lives(pidOf(home, run.name)) && !lives(pidOf(home, run.name, 'watcher')))
  assert.partialDeepStrictEqual(end, { state: 'failed', uid, reason: 'killed', exitCode: 143, signal: 'SIGTERM' })
  assert(!existsSync(workDir(home)))
  assert.deepEqual(await compute.probe(run), end)
})

test('a run that fills its disk and ends keeps its exit code, once its last process is gone', async (t) => {
  const home = smallDisk(t)
  if (!home) return
  const compute = shellCompute(home, { orphanGraceMs: 2_000 })
  await compute.launch(shellRun(run.name, `${fills}; sleep 600 & echo child $!; exit 3`))
  const end = compute.watch(run, { signal: patience() })
  await untilLogged(home, run.name, 'child ')
  const child = Number(/child (\d+)/.exec(runFile(home, run.name, 'log'))?.[1])
  await until('the program has ended', () => !lives(pidOf(home, run.name)))
  const isWhole = existsSync(workDir(home))
  assert(lives(child) && isWhole, 'what still runs keeps its folder')
  assert.equal((await compute.probe(run)).state, 'running')
  assert.partialDeepStrictEqual(await end, { state: 'failed', reason: 'exited', exitCode: 3 })
  assert(!lives(child) && !existsSync(workDir(home)))
})

test('terminates a run on a full disk whose watcher is gone', async (t) => {
  const home = smallDisk(t)
  if (!home) return
  const compute = shellCompute(home)
  await compute.launch(shellRun(run.name, `${fills}; exec sleep 600`))
  await untilLogged(home, run.name, 'full')
  process.kill(pidOf(home, run.name, 'watcher'), 'SIGKILL')
  const { end } = await compute.terminate(run, { graceMs: 10_000 })
  assert.equal(end.state, 'failed')
  assert(!lives(pidOf(home, run.name)) && !existsSync(workDir(home)))
})

test('terminates a run on a disk that others filled, a deaf run after its grace', async (t) => {
  const home = smallDisk(t)
  if (!home) return
  const compute = shellCompute(home)
  await compute.launch(shellRun(run.name, `trap "" TERM; ${waits.replace('exec ', '')}`))
  await untilLogged(home, run.name, 'ready')
  fillByOthers(home)
  const { end } = await compute.terminate(run, { graceMs: 300 })
  assert(!lives(pidOf(home, run.name)))
  assert.partialDeepStrictEqual(end, { state: 'failed', exitCode: null })
})

test('terminates a run before its launch at once, and the late launch starts nothing', async (t) => {
  const home = smallDisk(t)
  if (!home) return
  const elsewhere = testHome(t)
  const slowPython = join(elsewhere, 'python')
  const script = `touch ${elsewhere}/begun; while [ ! -e ${elsewhere}/go ]; do sleep 0.05; done; exec python3 "$@"`
  writeFileSync(slowPython, `#!/bin/sh\n${script}\n`, { mode: 0o755 })
  const launching = shellCompute(home, { python: slowPython }).launch(shellRun(run.name, waits))
  await until('it is under way', () => existsSync(join(elsewhere, 'begun')))
  fillByOthers(home)
  assert.deepEqual((await shellCompute(home).terminate(run, { graceMs: 0 })).end, { state: 'gone' })
  writeFileSync(join(elsewhere, 'go'), '')
  await assert.rejects(launching, { code: 'unavailable' })
  assert.deepEqual(readdirSync(join(home, 'runs')), [])
})
