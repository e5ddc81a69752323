// A Temporal that wants certificates of its clients: a TLS end before the one of the stack, as a Temporal's own proxy is.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { connect, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, before, suite, test } from 'node:test'
import { createServer, type TLSSocket } from 'node:tls'
import { promisify } from 'node:util'
import { root } from '../../tools/paths.mjs'
import { connection } from '../support/stack.ts'

const run = promisify(execFile)

suite('a Temporal behind TLS', () => {
  const dir = mkdtempSync(join(tmpdir(), 'anneal-tls-'))
  const file = (name: string) => join(dir, name)
  const clients: string[] = []
  let address = ''
  let stop = () => {}

  before(async () => {
    // Each its own authority.
    await Promise.all([certificate('server', 'DNS:temporal.example'), certificate('client', 'DNS:worker.example')])
    const server = createServer({
      cert: readFileSync(file('server.crt')),
      key: readFileSync(file('server.key')),
      ca: readFileSync(file('client.crt')),
      requestCert: true,
      ALPNProtocols: ['h2'],
    })
    server.on('secureConnection', (socket: TLSSocket) => {
      clients.push(String(socket.getPeerCertificate().subject?.CN))
      const [host = '', port] = connection().temporalAddress.split(':')
      const temporal = connect(Number(port), host)
      socket.pipe(temporal).pipe(socket)
      for (const [one, other] of [
        [socket, temporal],
        [temporal, socket],
      ] as const)
        one.on('error', () => other.destroy())
    })
    server.on('tlsClientError', () => {})
    await once(server.listen(0, '127.0.0.1'), 'listening')
    address = `127.0.0.1:${(server.address() as AddressInfo).port}`
    stop = () => server.close()
  })
  after(() => {
    stop()
    rmSync(dir, { recursive: true })
  })

  async function certificate(name: string, names: string) {
    const request = [
      'req',
      '-x509',
      '-newkey',
      'ec',
      '-pkeyopt',
      'ec_paramgen_curve:prime256v1',
      '-nodes',
      '-days',
      '1',
    ]
    const use = ['-subj', `/CN=${name}`, '-addext', `subjectAltName=${names}`]
    await run('openssl', [...request, ...use, '-keyout', file(`${name}.key`), '-out', file(`${name}.crt`)])
  }

  const register = (settings: Record<string, string>) =>
    run(process.execPath, ['src/cli.ts', 'register'], {
      cwd: root,
      env: { ...process.env, TEMPORAL_ADDRESS: address, ...settings },
    })
  const trusting = () => ({
    TEMPORAL_TLS_SERVER_CA_CERT_PATH: file('server.crt'),
    TEMPORAL_TLS_SERVER_NAME: 'temporal.example',
  })
  const asWorker = () => ({
    TEMPORAL_TLS_CLIENT_CERT_PATH: file('client.crt'),
    TEMPORAL_TLS_CLIENT_KEY_PATH: file('client.key'),
  })

  test('is spoken to with the certificate of the settings', async () => {
    const { stdout } = await register({ ...trusting(), ...asWorker() })
    assert.match(stdout, /^The namespace default needs no change/)
    assert.deepEqual([...new Set(clients)], ['client'])
  })

  test('is not reached without a client certificate, nor with an untrusted server certificate', async () => {
    await assert.rejects(register(trusting()), { code: 3, stderr: /does not answer/ })
    await assert.rejects(register({ ...trusting(), ...asWorker(), TEMPORAL_TLS_SERVER_NAME: 'else.example' }), {
      code: 3,
    })
  })

  test('a file that is not there is named', async () => {
    const settings = { ...trusting(), TEMPORAL_TLS_CLIENT_CERT_PATH: file('missing.crt') }
    await assert.rejects(register(settings), { stderr: /TEMPORAL_\.\.\. are wrong: .*missing\.crt/ })
  })
})
