import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { closeSync, openSync } from 'node:fs'
import { join } from 'node:path'
import { test } from 'node:test'
import { nodeBinary, root } from '../tools/paths.mjs'

const program = (end: string) => `
import { createLog } from '${join(root, 'src/log.ts')}'
import { createTemporalLog } from '${join(root, 'src/temporal-log.ts')}'
const log = createLog('test', 'info')
const temporal = createTemporalLog(log)
for (let line = 0; line < 3; line++) {
  log.info({ line }, 'a line')
  temporal.debug('not asked for')
  temporal.warn('Activity failed', { activityType: 'launch', error: new Error('no room') })
  await new Promise((resolve) => setTimeout(resolve, 30))
}
console.error('alive')
${end}`

for (const end of ['', 'process.exit(0)'])
  test(`a log that cannot be written ends nobody, ${end || 'whose work is done'}`, () => {
    const full = openSync('/dev/full', 'w')
    const { status, stderr } = spawnSync(nodeBinary, ['--input-type=module', '--eval', program(end)], {
      stdio: ['ignore', full, 'pipe'],
      encoding: 'utf8',
      timeout: 20_000,
    })
    closeSync(full)
    assert.deepEqual({ status, stderr }, { status: 0, stderr: 'alive\n' })
  })

test('what is written is a line of JSON each, also of what Temporal says', () => {
  const { stdout } = spawnSync(nodeBinary, ['--input-type=module', '--eval', program('')], { encoding: 'utf8' })
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
