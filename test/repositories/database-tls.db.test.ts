// A TLS end before Postgres that takes no connection without TLS: the Postgres of the tests is built without it.
import assert from 'node:assert/strict'
import { execFile, execFileSync } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { connect, createServer, type AddressInfo, type Socket } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { connectDatabase } from '../../src/repositories/database.ts'
import { listenToNotifications } from '../../src/repositories/notifications.ts'
import { root } from '../../tools/paths.mjs'
import { eventually } from '../support/eventually.ts'
import { connection } from '../support/stack.ts'

/** The first message of a client that wants TLS. */
const tlsWanted = Buffer.from([0, 0, 0, 8, 4, 210, 22, 47])

const newKey = ['-newkey', 'rsa:2048', '-nodes']

suite('a Postgres behind TLS', async () => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-database-tls-'))
  const openssl = (...args: string[]) => execFileSync('openssl', args, { cwd: dir, stdio: 'ignore' })
  for (const name of ['ca', 'other'])
    openssl(
      'req',
      '-x509',
      ...newKey,
      '-days',
      '1',
      '-subj',
      `/CN=${name}`,
      '-keyout',
      `${name}.key`,
      '-out',
      `${name}.crt`,
    )
  openssl('req', ...newKey, '-subj', '/CN=db', '-keyout', 'db.key', '-out', 'db.csr')
  writeFileSync(join(dir, 'names'), 'subjectAltName=DNS:localhost')
  openssl(
    ...'x509 -req -in db.csr -CA ca.crt -CAkey ca.key -CAcreateserial -days 1 -extfile names -out db.crt'.split(' '),
  )

  const [cert, key] = ['db.crt', 'db.key'].map((name) => readFileSync(join(dir, name)))
  const postgres = new URL(connection().databaseUrl)
  const sockets = new Set<Socket>()
  const server = createServer((socket) => {
    sockets.add(socket.on('error', () => undefined))
    socket.once('data', (first) => {
      if (!first.equals(tlsWanted)) return void socket.destroy()
      socket.write('S')
      const encrypted = new TLSSocket(socket, { isServer: true, cert, key })
      const plain = connect(Number(postgres.port), postgres.hostname)
      encrypted.on('error', () => plain.destroy()).on('close', () => plain.destroy())
      plain.on('error', () => encrypted.destroy()).on('close', () => encrypted.destroy())
      encrypted.pipe(plain).pipe(encrypted)
    })
  }).listen(0)
  await once(server, 'listening')
  const port = String((server.address() as AddressInfo).port)
  after(() => {
    for (const socket of sockets) socket.destroy()
    server.close()
    rmSync(dir, { recursive: true })
  })

  function urlOf(hostname: string, authority: string) {
    const query = new URLSearchParams({ sslmode: 'verify-full', sslrootcert: join(dir, `${authority}.crt`) })
    return `${Object.assign(new URL(postgres), { hostname, port }).href}?${query.toString()}`
  }

  test('is asked, listened to and migrated with sslmode=verify-full', async () => {
    const url = urlOf('localhost', 'ca')
    const database = connectDatabase(url, { poolSize: 1 })
    const notifications = listenToNotifications(url)
    let woken = 0
    notifications.on('outbox', () => woken++)
    await database.check()
    await eventually(() => woken > 0)
    await Promise.all([database.close(), notifications.close()])
    // Its schema is there already; Prisma's command, which speaks for itself, reads the same URL.
    const env = { ...process.env, DATABASE_URL: url }
    const { stdout } = await promisify(execFile)(process.execPath, ['src/cli.ts', 'migrate'], { cwd: root, env })
    assert.match(stdout, /has the schema of this version/)
  })

  test('is refused when another authority has signed, and when the certificate has another name', async () => {
    const wrong = { [urlOf('localhost', 'other')]: /certificate/, [urlOf('127.0.0.1', 'ca')]: /altnames/ }
    for (const [url, reason] of Object.entries(wrong)) {
      const database = connectDatabase(url, { poolSize: 1 })
      await assert.rejects(database.check(), reason)
      await database.close()
    }
  })

  test('is not reached without TLS, so the other tests had some', async () => {
    const [plain = ''] = urlOf('localhost', 'ca').split('?')
    const database = connectDatabase(plain, { poolSize: 1 })
    await assert.rejects(database.check())
    await database.close()
  })
})
