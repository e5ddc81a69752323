// Finds trainers in /proc, and makes some of them ignore SIGTERM.
import assert from 'node:assert/strict'
import { execFileSync, spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
import { createClock, hasClocks } from './clock.ts'
import { isAlive, livingPrograms, startedMs, trainersOf } from './programs.ts'

/** The program handles SIGTERM, as the trainer does. */
const program =
  'import signal, time; signal.signal(signal.SIGTERM, lambda *_: exit(143)); print("ready", flush=True); time.sleep(60)'

const site = join(import.meta.dirname, 'python')
const python = process.env['ANNEAL_PYTHON'] ?? 'python3'

suite('programs in /proc', () => {
  const home = mkdtempSync(join(tmpdir(), 'anneal-programs-'))
  after(() => rmSync(home, { recursive: true }))

  async function startTrainer(run: string) {
    const cwd = join(home, 'runs', run, 'work')
    mkdirSync(cwd, { recursive: true })
    const env = { ...process.env, PYTHONPATH: site, ANNEAL_WORK_DIR: cwd }
    const startMs = Date.now()
    const trainer = spawn(python, ['-c', program], { env, cwd, detached: true })
    await once(trainer.stdout, 'data')
    const [found] = trainersOf(livingPrograms(home), Number(/ft-(\d+)/.exec(run)?.[1]))
    assert.ok(found)
    assert.deepEqual([found.pid, found.group, found.run], [trainer.pid, trainer.pid, run])
    assert.ok(Math.abs(startedMs(found) - startMs) < 2000)
    return { trainer, found }
  }

  test('a trainer is found by its data directory and job, until it is gone', async () => {
    const { trainer, found } = await startTrainer('ft-1-a1')
    assert.equal(found.ignoresSigterm, false)
    assert.deepEqual(trainersOf(livingPrograms(home), 2), [])
    assert.deepEqual(livingPrograms('/nowhere'), [])
    trainer.kill('SIGTERM')
    assert.deepEqual(await once(trainer, 'exit'), [143, null])
    assert.equal(isAlive(found), false)
    assert.deepEqual(livingPrograms(home), [])
  })

  test('a trainer that is made deaf ignores SIGTERM', async () => {
    writeFileSync(join(home, 'deaf-2'), '')
    const { trainer, found } = await startTrainer('ft-2-a1')
    assert.equal(found.ignoresSigterm, true)
    trainer.kill('SIGTERM')
    await sleep(200)
    assert.equal(isAlive(found), true)
    trainer.kill('SIGKILL')
    assert.deepEqual(await once(trainer, 'exit'), [null, 'SIGKILL'])
  })
})

test('Python sleeps under a clock of ours, ahead or behind', { skip: !hasClocks }, () => {
  const home = mkdtempSync(join(tmpdir(), 'anneal-clock-'))
  try {
    const clock = createClock(join(home, 'clock'))
    for (const aheadMs of [3_600_000, -3_600_000]) {
      clock.set(aheadMs)
      const env = { ...process.env, ...clock.environment, PYTHONPATH: site }
      const program = 'import time; time.sleep(0.01); print(time.time())'
      const said = execFileSync(python, ['-c', program], { env, encoding: 'utf8' })
      assert.ok(Math.abs(Number(said) * 1000 - Date.now() - aheadMs) < 60_000, `${said} is not ${aheadMs} ms ahead`)
    }
  } finally {
    rmSync(home, { recursive: true })
  }
})
