import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { parseStat } from '../../../src/compute/local/processes.ts'
import { lives, patience, pidOf, runFile, shellCompute, shellRun, testHome, untilLogged, waits } from './support.ts'
import { until } from '../../support/eventually.ts'

test('pid holds the program itself, leader of its own session and group', async (t) => {
  const home = testHome(t)
  await shellCompute(home).launch(shellRun('ft-1-a1', waits))
  await untilLogged(home, 'ft-1-a1', 'ready')
  assert.match(runFile(home, 'ft-1-a1', 'pid'), /^\d+$/)
  const pid = pidOf(home, 'ft-1-a1')
  await until('the program is sleep', () => readFileSync(`/proc/${pid}/cmdline`, 'utf8') === 'sleep\x00600\x00')
  const stat = readFileSync(`/proc/${pid}/stat`, 'utf8')
  assert.equal(parseStat(stat).groupId, pid)
  assert.equal(Number(stat.slice(stat.lastIndexOf(')') + 2).split(' ')[3]), pid)
})

test('exit holds the exit code, and a run that ended stays as it is when launched again', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  for (const [name, script, exit] of [
    ['ft-1-a1', 'exit 0', '0'],
    ['ft-1-a2', 'exit 65', '65'],
    ['ft-1-a3', 'kill -9 $$', '137'],
  ] as const) {
    const { uid } = await compute.launch(shellRun(name, script))
    const end = await compute.watch({ name }, { signal: patience() })
    assert.equal(end.state, exit === '0' ? 'succeeded' : 'failed')
    assert.equal(runFile(home, name, 'exit'), exit)
    assert.deepEqual(await compute.launch(shellRun(name, 'exit 1')), { uid, adopted: true })
    assert.deepEqual(await compute.probe({ name, uid }), end)
  }
  assert.equal(runFile(home, 'ft-1-a3', 'signal'), 'SIGKILL')
})

test('a new worker adopts the run of a worker that was killed right after the launch', async (t) => {
  const home = testHome(t)
  const child = spawn(process.execPath, [new URL('launch-and-die.ts', import.meta.url).pathname, home, 'ft-1-a1'], {
    stdio: ['ignore', 'pipe', 'inherit'],
  })
  const uid = await new Promise<string>((resolve) => child.stdout.once('data', (data) => resolve(String(data))))
  await until('the launching process has died', () => child.signalCode === 'SIGKILL')

  const compute = shellCompute(home)
  assert.deepEqual(await compute.launch(shellRun('ft-1-a1', waits)), { uid, adopted: true })
  const end = compute.watch({ name: 'ft-1-a1', uid }, { signal: patience() })
  await untilLogged(home, 'ft-1-a1', 'ready')
  process.kill(pidOf(home, 'ft-1-a1'), 'SIGTERM')
  const state = await end
  assert(state.state === 'failed')
  assert.deepEqual([state.exitCode, state.signal], [143, 'SIGTERM'])
})

test('a launch that is killed half-way leaves a whole run or none', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home)
  for (let round = 0; round < 3; round++) {
    const name = `ft-${round}-a1`
    const child = spawn(process.execPath, [new URL('launch-and-die.ts', import.meta.url).pathname, home, name], {
      stdio: 'ignore',
    })
    await until(
      'the launch has begun',
      () => existsSync(join(home, 'runs')) && readdirSync(join(home, 'runs')).some((entry) => entry.includes(name)),
    )
    child.kill('SIGKILL')
    await compute.launch(shellRun(name, waits))
    assert.equal((await compute.probe({ name })).state, 'running')
    assert(lives(pidOf(home, name)))
  }
})

test('the program gets a clean environment and a scratch folder that goes with it', async (t) => {
  const home = testHome(t)
  const compute = shellCompute(home, { env: { PATH: process.env['PATH'] ?? '', HF_HOME: '/models/hub' } })
  const script = 'pwd; echo > scratch; env'
  await compute.launch(
    shellRun('ft-1-a1', script, {
      env: { ANNEAL_INTERNAL_URL: 'http://127.0.0.1:1' },
      secretEnv: { ANNEAL_TOKEN: 't' },
    }),
  )
  await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  const work = join(home, 'runs', 'ft-1-a1', 'work')
  const lines = runFile(home, 'ft-1-a1', 'log').trim().split('\n')
  assert.equal(lines[0], work)
  const names = lines.slice(1).map((line) => line.split('=')[0] ?? '')
  const shellsOwn = ['PWD', 'OLDPWD', 'SHLVL', '_']
  assert.deepEqual(
    names.filter((name) => !shellsOwn.includes(name)).toSorted(),
    'ANNEAL_GPU_COUNT ANNEAL_INTERNAL_URL ANNEAL_MODELS_DIR ANNEAL_TOKEN ANNEAL_WORK_DIR GOMP_SPINCOUNT HF_HOME HOME LANG MALLOC_ARENA_MAX OMP_NUM_THREADS PATH PYTHONPATH PYTHONSAFEPATH PYTHONUNBUFFERED SCRIPT TMPDIR TOKENIZERS_PARALLELISM'.split(
      ' ',
    ),
  )
  assert(lines.includes(`ANNEAL_WORK_DIR=${work}`))
  await until('the scratch folder is removed', () => !existsSync(work))
})

test('secrets are in no file and no argument list', async (t) => {
  const home = testHome(t)
  await shellCompute(home).launch(
    shellRun('ft-1-a1', waits, { secretEnv: { ANNEAL_TOKEN: 'tok-5ecret' }, labels: { job: '1' } }),
  )
  await untilLogged(home, 'ft-1-a1', 'ready')
  for (const entry of readdirSync(home, { recursive: true, withFileTypes: true })) {
    if (entry.isFile())
      assert(!readFileSync(join(entry.parentPath, entry.name), 'utf8').includes('tok-5ecret'), entry.name)
  }
  for (const file of ['pid', 'watcher']) {
    assert(!readFileSync(`/proc/${pidOf(home, 'ft-1-a1', file)}/cmdline`, 'utf8').includes('tok-5ecret'))
  }
  assert.deepEqual(JSON.parse(runFile(home, 'ft-1-a1', 'run.json')).labels, { job: '1' })
})

test('a program that does not exist is a failed run, a Python that does not exist no run', async (t) => {
  const home = testHome(t)
  const programs = { trainer: ['/nowhere/trainer'], 'model-server': ['/nowhere/server'] }
  const compute = shellCompute(home, { programs })
  await compute.launch(shellRun('ft-1-a1', ''))
  const end = await compute.watch({ name: 'ft-1-a1' }, { signal: patience() })
  assert(end.state === 'failed' && end.exitCode === 127 && end.reason === 'exited')
  assert.match(runFile(home, 'ft-1-a1', 'log'), /\/nowhere\/trainer could not be started/)

  await assert.rejects(shellCompute(home, { python: '/nowhere/python' }).launch(shellRun('ft-1-a2', '')), {
    code: 'unavailable',
  })
  assert.deepEqual(readdirSync(join(home, 'runs')), ['ft-1-a1'])
})
