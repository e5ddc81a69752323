import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, mkdtempSync, openSync, readFileSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { test } from 'node:test'
import { nodeBinary, root } from '../tools/paths.mjs'

const program = (lines: string) => `
import { execFileSync } from 'node:child_process'
import { createLog } from '${join(root, 'src/log.ts')}'
import { createTemporalLog } from '${join(root, 'src/temporal/log.ts')}'
const log = createLog('test', 'info')
const temporal = createTemporalLog(log)
${lines}`

const threeLines = `
for (let line = 0; line < 3; line++) {
  log.info({ line }, 'a line')
  temporal.debug('not asked for')
  temporal.warn('Activity failed', { activityType: 'launch', error: new Error('no room') })
}
console.error('alive')
`

for (const end of ['', 'process.exit(0)'])
  test(`a log that cannot be written ends no process, ${end || 'whose work is done'}`, () => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(nodeBinary, ['--input-type=module', '--eval', program(threeLines + end)], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
    })
    closeSync(full)
    assert.deepEqual({ status, stderr }, { status: 0, stderr: 'alive\n' })
  })

test('writes each message as a line of JSON, also those of Temporal', () => {
  const { stdout } = spawnSync(nodeBinary, ['--input-type=module', '--eval', program(threeLines)], { encoding: 'utf8' })
  type Line = {
    level: number
    name: string
    msg: string
    line?: number
    activityType?: string
    err?: { message: string }
  }
  const lines = stdout
    .trimEnd()
    .split('\n')
    .map((text) => JSON.parse(text) as Line)
  assert.deepEqual(
    lines.map(({ level, name, msg, line, activityType, err }) => [
      level,
      name,
      msg,
      line ?? activityType,
      err?.message,
    ]),
    [0, 1, 2].flatMap((line) => [
      [30, 'test', 'a line', line, undefined],
      [40, 'test', 'Activity failed', 'launch', 'no room'],
    ]),
  )
})

test('writes waiting lines first once there is room, and never part of a dropped line', (context) => {
  const path = join(mkdtempSync(join(tmpdir(), 'anneal-log-')), 'log')
  context.after(() => rmSync(dirname(path), { recursive: true }))
  const lines = `
    const longLine = (line) => log.info({ line }, 'x'.repeat(1000))
    for (let line = 0; line < 4000; line++) longLine(line)
    execFileSync('prlimit', ['--pid', String(process.pid), '--fsize=unlimited'])
    for (const line of [4000, 4001]) longLine(line)`
  // A file that may not grow beyond 64 KiB refuses as a full disk does.
  const limited = 'ulimit -S -f 64; exec "$0" --input-type=module --eval "$1" > "$2"'
  const { status, stderr } = spawnSync('bash', ['-c', limited, nodeBinary, program(lines), path], { encoding: 'utf8' })
  assert.deepEqual({ status, stderr }, { status: 0, stderr: '' })
  const written = readFileSync(path, 'utf8').trimEnd().split('\n')
  const numbers = written.map((text) => (JSON.parse(text) as { line: number }).line)
  const waited = numbers.slice(0, -1)
  assert.deepEqual(waited, [...waited.keys()])
  assert.ok(waited.length > 1000 && waited.length < 2000, `${waited.length} lines`)
  assert.equal(numbers.at(-1), 4001)
})
