// Completion and profiles: what a person sets up once.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, rmSync, statSync } from 'node:fs'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, test } from 'node:test'
import { commands } from '../../src/cli/commands.ts'
import { commandHelp, generalHelp } from '../../src/cli/help.ts'
import { root } from '../../tools/paths.mjs'

const folder = mkdtempSync(join(tmpdir(), 'anneal-cli-'))
const server = createServer(({ headers: { authorization } }, response) => {
  const isKnown = authorization === 'Bearer right'
  response.writeHead(isKnown ? 200 : 401, { 'Content-Type': 'application/json' }).end(isKnown ? '[]' : '{}')
}).listen(0, '127.0.0.1')
after(() => {
  server.close()
  rmSync(folder, { recursive: true })
})

const { ANNEAL_URL: _url, ANNEAL_API_KEY: _key, ...inherited } = process.env

function run(program: string, args: string[], input = '') {
  return new Promise<{ code: number | null; out: string; err: string }>((resolve) => {
    const child = spawn(program, args, { cwd: root, env: { ...inherited, XDG_CONFIG_HOME: folder } })
    let [out, err] = ['', '']
    child.stdout.on('data', (chunk) => (out += String(chunk)))
    child.stderr.on('data', (chunk) => (err += String(chunk)))
    child.once('close', (code) => resolve({ code, out, err }))
    // A program may end without reading its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
  })
}
const anneal = (args: string[], input?: string) => run(process.execPath, ['src/cli.ts', ...args], input)

test('the file that package.json names as its bin passes arguments, output and exit code on', async () => {
  const bin = (...args: string[]) => run(join(root, 'tools/anneal.mjs'), args)
  const { code, out } = await bin('jobs', '--help')
  assert.equal(code, 0)
  assert.ok(out.startsWith('Usage: anneal jobs '), out)
  assert.equal((await bin('nonsense')).code, 2)
})

test('every command has its help, and the list names it', async () => {
  const listed = [...generalHelp(commands).matchAll(/^ {2}(\w+) /gm)].map(([, name = '']) => name)
  assert.deepEqual(listed, Object.keys(commands))
  for (const [name, { load, summary }] of Object.entries(commands))
    assert.match(commandHelp(name, summary, (await load()).command), new RegExp(`^Usage: anneal ${name}( \\S|\n)`))
})

test('a misspelt command, verb or option is told with the one that was meant', async () => {
  for (const [args, says] of [
    [['trian'], 'There is no command "trian". Did you mean train?'],
    [['models', 'exprot', 'x'], 'not "exprot". Did you mean export?'],
    [['jobs', '--stauts', 'FAILED'], 'anneal jobs has no option --stauts. Did you mean --status?'],
    // An option of another verb is not left out in silence.
    [['models', 'show', 'x', '--to', 'y'], 'anneal models show has no option --to.'],
    [['complete', '- one', '--model', 'm'], 'Write -- before a text that begins with -.'],
    [['frobnicate'], 'There is no command "frobnicate".\n'],
  ] as const) {
    const { code, err } = await anneal([...args])
    assert.deepEqual([code, err.includes(says)], [2, true], err)
  }
})

test('bash completes commands, verbs and options', async () => {
  const { out: script } = await anneal(['completion', 'bash'])
  const complete = async (...words: string[]) => {
    const asked = `${script}\nCOMP_WORDS=(anneal ${words.map((word) => `"${word}"`).join(' ')})
      COMP_CWORD=${words.length}; _anneal; echo "\${COMPREPLY[@]}"`
    return (await run('bash', ['-c', asked])).out.trim()
  }
  assert.equal(await complete('mod'), 'models')
  assert.equal(await complete('models', 'un'), 'unalias')
  assert.equal(await complete('keys', '--ov'), '--overlap')
  for (const name of Object.keys(commands)) assert.match(script, new RegExp(`^ +${name}\\) words=`, 'm'))
})

test('a login keeps a key that the service knows, for the user alone, and later commands use it', async () => {
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const wrong = await anneal(['login', url], 'wrong\n')
  assert.deepEqual([wrong.code, wrong.err], [1, `${url} does not accept this API key.\n`])
  assert.equal((await anneal(['login', 'http://127.0.0.1:9'], 'right\n')).code, 3)
  const right = await anneal(['login', `${url}/`, '--profile', 'mine'], 'right\n')
  assert.equal(right.code, 0, right.err)
  assert.equal(statSync(join(folder, 'anneal/profiles.json')).mode & 0o777, 0o600)
  const { out } = await anneal(['config'])
  assert.match(out, /^\* +mine +http/m)
  assert.doesNotMatch(out, /right/)
  assert.equal((await anneal(['jobs', '--output', 'json'])).out, '[]\n')
  assert.match((await anneal(['jobs', '--profile', 'other'])).err, /no profile "other"/)
  assert.equal((await anneal(['config', 'remove', 'mine'])).code, 0)
  assert.match((await anneal(['config'])).out, /No profiles/)
})
