import assert from 'node:assert/strict'
import { chmodSync, mkdtempSync, readFileSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { suite, test } from 'node:test'
import { readDatabaseConfig, readMigrationConfig } from '../src/config/database.ts'
import { isOutage } from '../src/domain/outage.ts'
import { createPasswordCommand, urlWithPassword } from '../src/password-command.ts'

const dir = mkdtempSync(join(tmpdir(), 'anneal-password-'))
const to = { host: 'db.example.com', port: 5433, user: 'anneal', database: 'rows' }

function script(name: string, text: string) {
  const path = join(dir, name)
  writeFileSync(path, `#!/bin/sh\n${text}\n`)
  chmodSync(path, 0o755)
  return path
}

const commandOf = (...words: string[]) =>
  createPasswordCommand({ words, environment: { PATH: process.env['PATH'] } }, to)

suite('a command that prints the password of the database', () => {
  test('is run once for connections that open together, and knows what they connect to', async () => {
    const path = script('token', `echo run >> ${dir}/runs; echo "$1 $PGHOST $PGPORT $PGUSER $PGDATABASE"`)
    const password = commandOf(path, '--for')
    const all = await Promise.all(Array.from({ length: 20 }, () => password()))
    assert.deepEqual(new Set(all), new Set(['--for db.example.com 5433 anneal rows']))
    assert.equal(readFileSync(join(dir, 'runs'), 'utf8'), 'run\n')
  })

  test('is run again after a failure, which counts as an outage and repeats nothing that was printed', async () => {
    const path = script('fails', `test -e ${dir}/mended && echo right && exit 0; echo secret; echo secret >&2; exit 3`)
    const password = commandOf(path)
    await assert.rejects(password, (error: Error) => {
      assert.match(error.message, /ended with exit code 3/)
      assert.doesNotMatch(`${error.stack} ${JSON.stringify(error)} ${String(error.cause)}`, /secret/)
      return isOutage(error)
    })
    writeFileSync(join(dir, 'mended'), '')
    assert.equal(await password(), 'right')
  })

  test('that does not exist or prints nothing is named with the reason', async () => {
    await assert.rejects(commandOf(join(dir, 'none')), /cannot be started \(ENOENT\)/)
    await assert.rejects(commandOf(script('silent', 'true')), /it printed nothing/)
  })

  test('with the syntax of a shell is refused', () => {
    const read = (command: string) =>
      readDatabaseConfig({ DATABASE_URL: 'postgresql://a@b/c', ANNEAL_DATABASE_PASSWORD_COMMAND: command })
    for (const command of ['token --user "a b"', 'token $USER', 'token | tail -1', 'token; token'])
      assert.throws(() => read(command), /run without a shell/, command)
    assert.deepEqual(read(' token  --user a ').database.passwordCommand?.words, ['token', '--user', 'a'])
  })

  test('serves addresses without a password only, and escapes what it prints', async () => {
    const command = script('odd', "echo 'a/b?c%d@e'")
    const of = (url: string) =>
      urlWithPassword(
        readMigrationConfig({ ANNEAL_MIGRATE_DATABASE_URL: url, ANNEAL_DATABASE_PASSWORD_COMMAND: command }),
      )
    assert.equal(await of('postgresql://me:own@db/anneal'), 'postgresql://me:own@db/anneal')
    assert.equal(decodeURIComponent(new URL(await of('postgresql://me@db/anneal')).password), 'a/b?c%d@e')
  })
})

test('migrations go to their own address, else past the pooler, else where all goes', () => {
  const all = { ANNEAL_MIGRATE_DATABASE_URL: 'own', ANNEAL_DATABASE_SESSION_URL: 'session', DATABASE_URL: 'all' }
  const urls: string[] = []
  for (const name of Object.keys(all)) {
    urls.push(readMigrationConfig(all).url)
    Reflect.deleteProperty(all, name)
  }
  assert.deepEqual(urls, ['own', 'session', 'all'])
  assert.throws(() => readMigrationConfig(all), /set DATABASE_URL or ANNEAL_MIGRATE_DATABASE_URL/)
})
