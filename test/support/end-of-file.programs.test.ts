import assert from 'node:assert/strict'
import { spawnSync } from 'node:child_process'
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'

/** Runs a test file as the lanes do, but ends it a millisecond after its tests. */
function run(source: string) {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-end-of-file-'))
  try {
    writeFileSync(join(folder, 'some.test.ts'), source)
    const preload = `--import=${join(root, 'test/support/end-of-file.ts')}`
    const { NODE_TEST_CONTEXT: _, ...environment } = process.env
    const env = { ...environment, ANNEAL_TEST_RESULTS_MS: '1' }
    return spawnSync(process.execPath, ['--test', preload, join(folder, 'some.test.ts')], { env, encoding: 'utf8' })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

const beginning = `
import { suite, test } from 'node:test'
import { setTimeout as sleep } from 'node:timers/promises'
suite('first', () => test('passes', () => {}))
`

test('a file that waits between two suites runs the second one', () => {
  const { stdout, status } = run(`${beginning}
await sleep(500)
suite('second', () => test('fails', () => { throw new Error('red') }))
`)
  assert.match(stdout, /tests 2\n/)
  assert.equal(status, 1)
})

test('a file that leaves a timer open ends', () => {
  const { stdout, stderr, status } = run(`${beginning}
setInterval(() => {}, 1000)
`)
  assert.match(stdout + stderr, /left open: .*Timeout/)
  assert.equal(status, 0)
})
