import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { existsSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { eventually } from '../../../support/eventually.ts'
import { holdsDuring, holdSettings } from './ask.ts'
import { socketName } from './socket-name.ts'

/** Holds its event loop, one turn after the other, for so many milliseconds of processor time as it reads. */
const program = `
function burn(ms) {
  const before = process.threadCpuUsage()
  for (;;) {
    const { user, system } = process.threadCpuUsage(before)
    if (user + system > ms * 1000) return
  }
}
process.stdin.on('data', async (text) => {
  for (const ms of String(text).trim().split(' ')) {
    await new Promise((resolve) => setTimeout(resolve, 10))
    burn(Number(ms))
    console.log('burnt')
  }
})
`

test('the longest turn of each event loop is found, in processor time, with its function', async (context) => {
  const folder = mkdtempSync(join(tmpdir(), 'holds-'))
  context.after(() => rmSync(folder, { recursive: true }))
  const [api, worker] = ['api', 'worker'].map((name) => {
    const path = join(folder, `${name}.mjs`)
    writeFileSync(path, program)
    const env = { ...process.env, ANNEAL_HOME: folder, ...holdSettings }
    const child = spawn(process.execPath, [path], { env, stdio: ['pipe', 'pipe', 'inherit'] })
    context.after(() => child.kill())
    let burnt = 0
    child.stdout.on('data', (text: Buffer) => (burnt += text.toString().split('burnt').length - 1))
    return { child, burnt: () => burnt }
  })
  assert.ok(api && worker)
  await eventually(async () => ['api', 'worker'].every((name) => existsSync(join(folder, socketName(name)))))
  const holds = await holdsDuring(folder, async () => {
    api.child.stdin.write('30 120 30\n')
    await eventually(async () => api.burnt() === 3)
  })
  const [ofApi, ofWorker] = holds
  assert.ok(ofApi && ofWorker)
  assert.deepEqual([ofApi.process, ofWorker.process], ['api', 'worker'])
  assert.ok(ofApi.ms >= 119 && ofApi.ms < 149, `${ofApi.ms} ms`)
  assert.match(ofApi.functions.join(), /burn \d+ %/)
  assert.ok(ofWorker.ms < 50, `${ofWorker.ms} ms`)
})
