// What set-up says when something is missing, and that it believes no download whose checksum differs.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { createHash } from 'node:crypto'
import { once } from 'node:events'
import { chmodSync, existsSync, mkdirSync, readFileSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { makeHome } from '../embedded/support/stack-process.ts'

const unreachable = 'http://127.0.0.1:1'

type Outcome = { code: number; output: string }

function runNode(args: string[], env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr })
    })
  })
}

/** A machine with nothing but a shell. */
function bareMachine() {
  const { dir, remove } = makeHome()
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  for (const name of ['sh', 'tar', 'gzip'])
    symlinkSync(execFileSync('which', [name], { encoding: 'utf8' }).trim(), join(bin, name))
  const env = { PATH: bin, HOME: dir, ANNEAL_CACHE_DIR: join(dir, 'cache'), ANNEAL_RELEASE_MIRROR: unreachable }
  const install = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  return { dir, env, install, setUp: (only: string) => runNode(['tools/setup.mjs', '--only', only], env), remove }
}

test('finds nothing to do, and says nothing, when everything is done', async () => {
  const env = { ...process.env, PATH: process.env.PATH ?? '' } as Record<string, string>
  assert.deepEqual(await runNode(['tools/setup.mjs', '--check'], env), { code: 0, output: '' })
})

test('without Go and without a release, it says how to get the S3 server', async () => {
  const machine = bareMachine()
  const { code, output } = await machine.setUp('s3')
  assert.equal(code, 1)
  assert.match(output, /Go is missing\. Install Go 1\.26\.4 or later .* or set ANNEAL_VERSITYGW_BIN/)
  assert.doesNotMatch(output, /\n\s+at /)
  assert.deepEqual(
    readdirSync(machine.env.ANNEAL_CACHE_DIR).filter((entry) => !entry.includes('.tmp-')),
    [],
  )
  machine.remove()
})

test('with a Go that is too old, it says so', async () => {
  const machine = bareMachine()
  // As Go 1.21 and later do inside a module that asks for a newer one they may not fetch.
  machine.install('go', `case "$PWD" in *tools/go) exit 1;; esac; echo go version go1.22.1 linux/amd64`)
  const { code, output } = await machine.setUp('s3')
  assert.equal(code, 1)
  assert.match(output, /Go 1\.22\.1 is too old/)
  machine.remove()
})

test('without Python 3.11 or later, it says how to get it', async () => {
  const machine = bareMachine()
  machine.install('python3', 'echo cpython 3 10 /usr/bin/python3')
  const { code, output } = await machine.setUp('python')
  assert.equal(code, 1)
  assert.match(output, /Python 3\.11 or later .* is missing/)
  machine.remove()
})

test('a release is taken when its checksum is the listed one, and only then', async () => {
  const machine = bareMachine()
  const { archive, name } = makeArchive(machine.dir)
  const sum = createHash('sha256').update(archive).digest('hex')
  let listed = sum
  const mirror = createServer((request, response) => {
    response.end(request.url?.endsWith('checksums.txt') ? `${listed}  ${name}\n` : archive)
  }).listen(0, '127.0.0.1')
  await once(mirror, 'listening')
  const { port } = mirror.address() as { port: number }
  const target = join(machine.dir, 'target')
  mkdirSync(target)
  const script = `
    import { fetchRelease } from '${join(root, 'tools/setup/release.mjs')}'
    await fetchRelease('1.7.0', '${target}')`
  const env = { ...machine.env, ANNEAL_RELEASE_MIRROR: `http://127.0.0.1:${port}` }
  const fetchIt = () => runNode(['--input-type=module', '-e', script], env)

  listed = '0'.repeat(64)
  assert.match((await fetchIt()).output, /is not the file that the release lists/)
  assert.ok(!existsSync(join(target, 'versitygw')))
  listed = sum
  assert.equal((await fetchIt()).code, 0)
  assert.equal(readFileSync(join(target, 'versitygw'), 'utf8'), 'the program')
  mirror.close()
  machine.remove()
})

function makeArchive(dir: string) {
  const arch = process.arch === 'x64' ? 'x86_64' : process.arch
  const name = `versitygw_v1.7.0_${process.platform === 'linux' ? 'Linux' : 'Darwin'}_${arch}.tar.gz`
  mkdirSync(join(dir, 'wrapped'))
  writeFileSync(join(dir, 'wrapped/versitygw'), 'the program')
  execFileSync('tar', ['-czf', name, 'wrapped'], { cwd: dir })
  return { archive: readFileSync(join(dir, name)), name }
}
