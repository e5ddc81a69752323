// anneal keys, anneal accounts: the same admin routes from a terminal.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import type { Key } from '../support/operator.ts'
import { connection, homeDir } from '../support/stack.ts'

type Ended = { code: number; stdout: string; stderr: string }

const anneal = (args: string[], env: NodeJS.ProcessEnv = {}) =>
  new Promise<Ended>((resolve) => {
    const options = { env: { ...process.env, ...env } }
    execFile(process.execPath, [join(root, 'src/cli.ts'), ...args], options, (error, stdout, stderr) =>
      resolve({ code: typeof error?.code === 'number' ? error.code : error ? 1 : 0, stdout, stderr }),
    )
  })
const json = async <T>(...args: string[]): Promise<T> => {
  const { code, stdout, stderr } = await anneal([...args, '--home', homeDir, '--json'])
  assert.equal(code, 0, stderr)
  return JSON.parse(stdout) as T
}
const statusOf = async (key: string) =>
  (await fetch(`${connection().apiUrl}/v1/models`, { headers: { authorization: `Bearer ${key}` } })).status

suite('keys and accounts on the command line', () => {
  test('open an account, make, list, rotate and revoke a key, delete the account', async () => {
    const account = await json<{ id: string }>('accounts', 'create', '--name', 'from the terminal')
    const { priority } = await json<{ priority: string }>('accounts', 'priority', account.id, 'high')
    assert.equal(priority, 'high')
    const made = await json<Key>(
      'keys',
      'create',
      '--account',
      account.id,
      '--name',
      'laptop',
      '--scopes',
      'read, data',
    )
    assert.deepEqual(made.scopes, ['read', 'data'])
    assert.equal(await statusOf(made.key), 200)
    const env = { ANNEAL_URL: connection().apiUrl, ANNEAL_API_KEY: made.key }
    const who = (await anneal(['whoami'], env)).stdout
    assert.match(
      who,
      new RegExp(`ACCOUNT +from the terminal \\(${account.id}\\)\nKEY +laptop \\(${made.id}\\)\nSCOPES +read, data\n`),
    )
    const listed = await anneal(['keys', 'list', '--account', account.id, '--home', homeDir])
    assert.match(listed.stdout, new RegExp(`${made.id}  ${account.id}  valid .* -  +read,data +laptop`))
    assert.ok(!listed.stdout.includes(made.key))
    const rotated = await json<Key>('keys', 'rotate', made.id, '--overlap', '60')
    assert.equal(await statusOf(rotated.key), 200)
    const revoked = await anneal(['keys', 'revoke', rotated.id, '--home', homeDir])
    assert.deepEqual([revoked.code, revoked.stdout], [0, `Revoked ${rotated.id}.\n`])
    const { accounts } = await json<{ accounts: { id: string }[] }>('accounts', 'list')
    assert.ok(accounts.some(({ id }) => id === account.id))
    await json('accounts', 'delete', account.id, '--yes')
    assert.equal((await anneal(['keys', 'list', '--account', account.id, '--home', homeDir])).code, 1)
  })

  test('exit codes: 2 for a wrong call, 1 for a refusal, 3 for an unreachable service', async () => {
    for (const args of [
      ['keys'],
      ['keys', 'steal'],
      ['keys', 'create'],
      ['accounts', 'delete', 'x'],
      ['keys', 'revoke'],
    ])
      assert.equal((await anneal([...args, '--home', homeDir])).code, 2, args.join(' '))
    assert.equal((await anneal(['keys', 'revoke', '0123456789abcdef', '--home', homeDir])).code, 1)
    const nowhere = { ANNEAL_ADMIN_URL: 'http://127.0.0.1:9', ANNEAL_ADMIN_TOKEN: 'x' }
    assert.equal((await anneal(['accounts', 'create', '--name', 'x'], nowhere)).code, 3)
    const help = await anneal(['keys', '--help'])
    assert.match(help.stdout, /Exit codes: 0 done/)
  })
})
