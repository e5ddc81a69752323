import assert from 'node:assert/strict'
import { test } from 'node:test'
import { wholeCharacters } from '../../../src/compute/log-slice.ts'
import { parseStat } from '../../../src/compute/local/processes.ts'
import type { RunSnapshot } from '../../../src/compute/local/run-folder.ts'
import { readRunState } from '../../../src/compute/local/run-state.ts'
import { isRunName } from '../../../src/compute/run-name.ts'

const process = { pid: 4242, started: 'boot 1' }
const ended: RunSnapshot = {
  uid: 'u',
  leader: process,
  watcher: process,
  leaderAlive: false,
  groupAlive: false,
  watcherAlive: false,
  exit: null,
  diskLimitBytes: null,
  terminated: false,
}

test('a run with a living process is running, even with its exit recorded', () => {
  assert.equal(readRunState({ ...ended, leaderAlive: true, groupAlive: true, watcherAlive: true }).state, 'running')
  assert.equal(readRunState({ ...ended, groupAlive: true, exit: { code: 0, signal: null } }).state, 'running')
})

test('a run whose watcher is about to record the end is not lost', () => {
  assert.equal(readRunState({ ...ended, watcherAlive: true }).state, 'running')
})

test('exit code and signal tell how a run ended', () => {
  assert.deepEqual(readRunState({ ...ended, exit: { code: 0, signal: null } }), { state: 'succeeded', uid: 'u' })
  const outcome = (snapshot: Partial<RunSnapshot>) => {
    const state = readRunState({ ...ended, ...snapshot })
    assert(state.state === 'failed')
    return [state.exitCode, state.signal, state.reason]
  }
  assert.deepEqual(outcome({ exit: { code: 70, signal: null } }), [70, null, 'exited'])
  assert.deepEqual(outcome({ exit: { code: 137, signal: 'SIGKILL' } }), [137, 'SIGKILL', 'killed'])
  assert.deepEqual(outcome({ exit: { code: 143, signal: null }, terminated: true }), [143, null, 'killed'])
  assert.deepEqual(outcome({ terminated: true, leader: null, watcher: null }), [null, null, 'killed'])
  assert.deepEqual(outcome({}), [null, null, 'lost'])
})

test('a run that its watcher ended for its size says so, and what to do', () => {
  const state = readRunState({ ...ended, exit: { code: 137, signal: 'SIGKILL' }, diskLimitBytes: 2 ** 30 })
  assert(state.state === 'failed')
  assert.deepEqual([state.exitCode, state.reason], [137, 'out_of_disk'])
  assert.match(state.message, /more than its 1 GiB of disk\. An operator can raise `diskGiB`/)
})

test('a run that finished before its termination took hold has succeeded', () => {
  assert.equal(readRunState({ ...ended, exit: { code: 0, signal: null }, terminated: true }).state, 'succeeded')
})

test('a process name with spaces and parentheses does not shift the fields', () => {
  const line = `4242 (a) S (b)) R 1 4200 4200 0 -1 4194304 1 2 3 4 5 6 7 8 20 0 3 0 987654 1000 10`
  assert.deepEqual(parseStat(line), { state: 'R', groupId: 4200, threadCount: 3, startTicks: '987654' })
})

test('run names are DNS labels', () => {
  for (const name of ['ft-1-a1', 'model-server-anneal-tiny-g2', 'a', 'a'.repeat(63)]) assert(isRunName(name), name)
  for (const name of ['', '.', '..', 'a/b', '../a', '-a', 'a-', 'A', 'a.b', 'a\n', 'a\0b', 'é', 'a'.repeat(64)])
    assert(!isRunName(name), JSON.stringify(name))
})

test('a log is cut between characters and still moves on', () => {
  const bytes = Buffer.from('aé€😀')
  assert.deepEqual(
    [1, 2, 3, 4, 5, 6, 7, 8, 9, 10].map((length) => wholeCharacters(bytes.subarray(0, length), length)),
    [1, 1, 3, 3, 3, 6, 6, 6, 6, 10],
  )
  assert.equal(wholeCharacters(Buffer.from([0xf0, 0x9f]), 2), 2)
})
