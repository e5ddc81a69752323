// What `npm run doctor` says on machines where the service cannot start, and that its exit code says so.
import assert from 'node:assert/strict'
import { once } from 'node:events'
import { mkdirSync, readdirSync, writeFileSync } from 'node:fs'
import { createServer } from 'node:net'
import { join } from 'node:path'
import { test } from 'node:test'
import { bareMachine, runNode } from './support/bare-machine.ts'

/** The home lies on a path with a space. */
function patient() {
  const machine = bareMachine()
  const home = join(machine.dir, 'my data')
  const examine = (...args: string[]) =>
    runNode(['tools/doctor.mjs', '--home', home, '--port', '0', ...args], machine.env)
  return { ...machine, home, examine }
}

test('names each missing thing of a bare machine with its next step', async () => {
  const { examine, dir, remove } = patient()
  const { code, output } = await examine()
  assert.equal(code, 1)
  assert.match(output, /FAIL {2}python +no Python 3\.11 to 3\.14\n +→ Install it/)
  assert.match(output, /ok {4}go +no Go; set-up fetches one from PyPI/)
  assert.match(output, /npm start cannot work here yet/)
  for (const problem of output.matchAll(/^FAIL.*\n(.*)/gm)) assert.match(problem[1] ?? '', /^ +→ \S/)
  assert.deepEqual(readdirSync(dir), ['bin'], 'changes nothing')
  remove()
})

test('a Python that is too old does not count', async () => {
  const { examine, install, remove } = patient()
  install('python3', 'echo cpython 3 10 /usr/bin/python3')
  assert.match((await examine()).output, /FAIL {2}python +no Python 3\.11 to 3\.14/)
  remove()
})

test("an index that a proxy refuses is named, with the proxy's answer", async () => {
  const { examine, install, remove } = patient()
  install(
    'python3',
    `case "$*" in *colorama*)
      echo "WARNING: Retrying (Retry(total=0)) after connection broken by 'ProxyError(403 Forbidden)': /simple/colorama/" >&2
      echo "ERROR: No matching distribution found for colorama==0.4.6" >&2; exit 1;; esac; echo cpython 3 13 python3`,
  )
  assert.match(
    (await examine()).output,
    /FAIL {2}network +PyPI does not answer: ProxyError\(403 Forbidden\)\n +→ Check the network/,
  )
  remove()
})

test('a cache that cannot be made is named', async () => {
  const { examine, env, remove } = patient()
  writeFileSync(join(env.HOME, 'cache'), 'a file where a folder should be')
  const { code, output } = await examine()
  assert.equal(code, 1)
  assert.match(output, /FAIL {2}cache +\S+ is not a folder\n +→ .*ANNEAL_CACHE_DIR/)
  remove()
})

test('a port in use is named', async () => {
  const { examine, remove } = patient()
  const other = createServer().listen(0, '127.0.0.1')
  await once(other, 'listening')
  const { port } = other.address() as { port: number }
  const { code, output } = await examine('--port', String(port))
  assert.equal(code, 1)
  assert.match(output, new RegExp(`FAIL {2}port +${port} is in use by another program\\n +→ Choose another`))
  other.close()
  remove()
})

const brokenHomes: Record<string, { files: Record<string, string>; says: RegExp }> = {
  'secrets that are not JSON': { files: { 'secrets.json': '{' }, says: /secrets\.json is not valid JSON/ },
  'a database without its secrets': {
    files: { 'postgres/PG_VERSION': '16\n' },
    says: /a database and no secrets\.json/,
  },
  'a database of another Postgres': {
    files: { 'secrets.json': '{}', 'postgres/PG_VERSION': '17\n' },
    says: /is of Postgres 17, not 16/,
  },
}
for (const [what, { files, says }] of Object.entries(brokenHomes))
  test(`a home with ${what} is named`, async () => {
    const { examine, home, remove } = patient()
    for (const [file, text] of Object.entries(files)) {
      mkdirSync(join(home, file, '..'), { recursive: true })
      writeFileSync(join(home, file), text)
    }
    const { code, output } = await examine()
    assert.equal(code, 1)
    assert.match(output, /FAIL {2}data /)
    assert.match(output, says)
    remove()
  })

test('wrong arguments end with 2', async () => {
  const { examine, remove } = patient()
  assert.equal((await examine('--what')).code, 2)
  remove()
})
