// Programs that a prepared process starts are runs like others: same claim, own session, own environment, own end.
import assert from 'node:assert/strict'
import { mkdirSync, readFileSync, readlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test, type TestContext } from 'node:test'
import { createLocalTrainers } from '../../../src/compute/local/local-compute.ts'
import { createPrepared } from '../../../src/compute/local/prepared.ts'
import { parseStat } from '../../../src/compute/local/processes.ts'
import { eventually, until } from '../../support/eventually.ts'
import { lives, patience, pidOf, python, runFile, shellRun, testHome, untilLogged } from './support.ts'

/** Stands for the trainer, which imports for seconds: it says who its parent's parent is and does as CODE says. */
const trainer = `
import os, sys, time
from loaded import PREPARED_BY
print("prepared by", PREPARED_BY, flush=True)
print("environment", *sorted(os.environ), flush=True)
exec(os.environ["CODE"])
`

test('runs are forks of the prepared process, and outlive it', async (t) => {
  const { home, launch, prepared } = prepare(t)
  await Promise.all([launch('ft-1-a1', 'sys.exit(3)'), launch('ft-1-a2', 'pass')])
  for (const name of ['ft-1-a1', 'ft-1-a2']) await untilLogged(home, name, 'environment')
  const by = preparedBy(home, 'ft-1-a1')
  assert.notEqual(by, pidOf(home, 'ft-1-a1'))
  assert.equal(preparedBy(home, 'ft-1-a2'), by)

  const { uid } = await launch('ft-2-a1', 'time.sleep(600)')
  assert.deepEqual(await launch('ft-2-a1', 'sys.exit(1)'), { uid, adopted: true })
  await untilLogged(home, 'ft-2-a1', 'environment')
  assert.equal(preparedBy(home, 'ft-2-a1'), by)
  assert.match(runFile(home, 'ft-2-a1', 'log'), /^environment .*ANNEAL_WORK_DIR CODE .*TMPDIR/m)
  const pid = pidOf(home, 'ft-2-a1')
  assert.equal(readlinkSync(`/proc/${pid}/cwd`), join(home, 'runs/ft-2-a1/work'))
  assert.equal(parseStat(readFileSync(`/proc/${pid}/stat`, 'utf8')).groupId, pid)
  const watcher = `/proc/${pidOf(home, 'ft-2-a1', 'watcher')}/cmdline`
  await until('the watcher has left the imports behind', () => readFileSync(watcher, 'utf8').includes('--watch'))

  prepared.close()
  await until('the prepared process has ended', () => !lives(by))
  assert(lives(pid))
})

test('how such a run ends is recorded', async (t) => {
  const { home, compute, launch } = prepare(t)
  for (const [name, code, exit] of [
    ['ft-2-a1', 'pass', '0'],
    ['ft-2-a2', 'sys.exit(65)', '65'],
    ['ft-2-a3', 'os.kill(os.getpid(), 9)', '137'],
    ['ft-2-a4', 'raise ValueError("no such row")', '1'],
  ] as const) {
    await launch(name, code)
    await compute.watch({ name }, { signal: patience() })
    assert.equal(runFile(home, name, 'exit'), exit)
  }
  assert.match(runFile(home, 'ft-2-a4', 'log'), /Traceback[^]*ValueError: no such row/)
})

test('a killed prepared process is replaced', async (t) => {
  const { home, launch } = prepare(t)
  await launch('ft-1-a1', 'pass')
  await untilLogged(home, 'ft-1-a1', 'environment')
  const by = preparedBy(home, 'ft-1-a1')
  process.kill(by, 'SIGKILL')
  await until('it is gone', () => !lives(by))
  let attempts = 0
  await eventually(async () => {
    const name = `ft-2-a${++attempts}`
    await launch(name, 'pass').catch(() => null)
    return readOrNull(home, name)?.includes('prepared by')
  })
  assert.notEqual(preparedBy(home, `ft-2-a${attempts}`), by)
})

test('runs start as programs when the prepared process cannot start', async (t) => {
  const { home, launch } = prepare(t, ['absent'])
  await launch('ft-1-a1', 'pass')
  await untilLogged(home, 'ft-1-a1', 'environment')
  assert.equal(preparedBy(home, 'ft-1-a1'), pidOf(home, 'ft-1-a1'))
})

function prepare(t: TestContext, modules = ['loaded']) {
  const home = testHome(t)
  const pythonPath = join(home, 'modules')
  mkdirSync(join(pythonPath, 'anneal_runtime/trainer'), { recursive: true })
  writeFileSync(join(pythonPath, 'loaded.py'), 'import os\nPREPARED_BY = os.getpid()\n')
  for (const [file, text] of [
    ['__init__.py', ''],
    ['trainer/__init__.py', ''],
    ['trainer/__main__.py', trainer],
  ] as const)
    writeFileSync(join(pythonPath, 'anneal_runtime', file), text)
  const machine = { home, python, pythonPath, modelsDir: 'models', env: { PATH: process.env['PATH'] ?? '/usr/bin' } }
  const prepared = createPrepared({ ...machine, modules })
  assert(prepared)
  t.after(() => prepared.close())
  const compute = createLocalTrainers({ ...machine, prepared })
  const launch = (name: string, code: string) => compute.launch(shellRun(name, '', { env: { CODE: code } }))
  return { home, compute, launch, prepared }
}

function preparedBy(home: string, name: string): number {
  return Number(/prepared by (\d+)/.exec(runFile(home, name, 'log'))?.[1])
}

function readOrNull(home: string, name: string): string | null {
  try {
    return runFile(home, name, 'log')
  } catch {
    return null
  }
}
