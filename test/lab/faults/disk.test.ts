import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, rmSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { describeHome } from '../../../src/embedded/data-directory.ts'
import { nodeBinary } from '../../../tools/paths.mjs'
import { fillDisk, freeDisk, mountDisk, unmountDisk } from './disk.ts'

/** Writes page after page. Prints a line when it begins, and each time that it finds no room. */
const writer = `
  const { openSync, writeSync } = require('node:fs')
  const file = openSync(process.argv[1], 'w')
  const write = () => {
    try { if (writeSync(file, Buffer.alloc(4096)) === 4096) return setImmediate(write) } catch {}
    console.log('full')
    setTimeout(write, 50)
  }
  write()
  console.log('begun')`

test('a disk is filled while a program writes to it', { timeout: 60_000 }, async (t) => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-disk-'))
  if (!mountDisk(dir)) {
    rmSync(dir, { recursive: true })
    return t.skip('that needs root, and leave to mount a file system')
  }
  const child = spawn(nodeBinary, ['-e', writer, join(dir, 'file')], { stdio: ['ignore', 'pipe', 'inherit'] })
  t.after(() => {
    child.kill('SIGKILL')
    unmountDisk(dir)
    rmSync(dir, { recursive: true })
  })
  const home = describeHome(dir)
  await once(child.stdout, 'data')
  for (let filled = 0; filled < 5; filled++) {
    fillDisk(home)
    assert.match(String(await once(child.stdout, 'data')), /full/)
    freeDisk(home)
  }
})
