import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { text } from 'node:stream/consumers'
import { lockOwner, releaseLock, takeLock } from '../../tools/pid-lock.mjs'
import { makeHome } from '../embedded/support/stack-process.ts'

const lockModule = new URL('../../tools/pid-lock.mjs', import.meta.url).href

/** Takes the lock, says so, and keeps it until its stdin ends. */
const taker = `
  import { takeLock } from '${lockModule}'
  console.log(takeLock(process.argv[1]) === null ? 'taken' : 'held')
  process.stdin.resume()
`

function startTaker(path: string) {
  const child = spawn(process.execPath, ['--input-type=module', '-e', taker, path], {
    stdio: ['pipe', 'pipe', 'inherit'],
  })
  return { child, said: text(child.stdout) }
}

test('a single process takes a stale lock that several find', async () => {
  const home = makeHome()
  const path = join(home.dir, 'lock')
  writeFileSync(path, JSON.stringify({ pid: 999_999_999, startTime: 'gone' }))
  const takers = Array.from({ length: 6 }, () => startTaker(path))
  await Promise.all(takers.map(({ child }) => once(child.stdout, 'readable')))
  for (const { child } of takers) child.stdin.end()
  const said = await Promise.all(takers.map((taker) => taker.said))
  assert.deepEqual(said.sort(), ['held\n', 'held\n', 'held\n', 'held\n', 'held\n', 'taken\n'])
  home.remove()
})

test('a lock is its owner’s until released, and free once the owner was killed', async () => {
  const home = makeHome()
  const path = join(home.dir, 'lock')
  const { child } = startTaker(path)
  await once(child.stdout, 'readable')
  assert.equal(takeLock(path)?.pid, child.pid)
  releaseLock(path)
  assert.equal(lockOwner(path)?.pid, child.pid)
  child.kill('SIGKILL')
  await once(child, 'exit')
  assert.equal(takeLock(path), null)
  assert.equal(lockOwner(path)?.pid, process.pid)
  releaseLock(path)
  assert.equal(lockOwner(path), null)
  home.remove()
})
