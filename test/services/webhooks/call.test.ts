// Calls to real servers on this machine, by names that a real name server answers: what is refused, and that nothing else is
// connected to.
import assert from 'node:assert/strict'
import { execFile } from 'node:child_process'
import { createSocket, type Socket } from 'node:dgram'
import { once } from 'node:events'
import { mkdtempSync, readFileSync, rmSync } from 'node:fs'
import { createServer, type RequestListener, type ServerResponse } from 'node:http'
import { createServer as createTlsServer } from 'node:https'
import { isIPv4, type AddressInfo } from 'node:net'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { after, suite, test } from 'node:test'
import { promisify } from 'node:util'
import { callableAddresses } from '../../../src/domain/callable-addresses.ts'
import { createCall } from '../../../src/services/webhooks/call.ts'
import { createResolveHost, type CallRules } from '../../../src/services/webhooks/exchange.ts'

const run = promisify(execFile)
const own = callableAddresses(['127.0.0.0/8'])
const lenient = { allowsHttp: true, isCallable: own }
const strict = { allowsHttp: true, isCallable: callableAddresses() }

suite('a call to a server of a user', async () => {
  const names = await startNameServer()
  after(() => names.close())
  let connections = 0
  const paths: string[] = []
  const stopping = new AbortController()
  const port = await startReceiver((request, response) => {
    paths.push(`${request.headers.host} ${request.url}`)
    const [, what = ''] = /^\/(\w+)/.exec(request.url ?? '') ?? []
    if (what === 'silence') return
    if (what === 'stopping') return stopping.abort()
    if (what === 'redirect') return response.writeHead(302, { location: `http://${request.headers.host}/target` }).end()
    if (what === 'busy') return response.writeHead(503, { 'retry-after': '120' }).end()
    if (what === 'endless') return writeForEver(response.writeHead(200))
    if (what === 'dripping') return response.writeHead(206).write('a')
    response.writeHead(Number(what) || 200).end('ok')
  })

  const never = new AbortController().signal
  const call = (url: string, rules: CallRules = lenient, signal = never, timeoutMs = 600_000) =>
    createCall({ ...rules, resolve: names.resolve, timeoutMs })({ url, headers: {}, body: '{}', signal })
  const callBriefly = (url: string) => call(url, lenient, never, 2000)
  const at = (path: string) => `http://127.0.0.1:${port}/${path}`

  test('an answer of 2xx is taken, any other is not', async () => {
    assert.deepEqual(await call(at('200')), { statusCode: 200, error: null, retryAfterMs: 0 })
    assert.equal((await call(at('299')))?.error, null)
    assert.deepEqual(await call(at('500')), { statusCode: 500, error: 'The endpoint answered 500.', retryAfterMs: 0 })
    assert.deepEqual(await call(at('busy')), {
      statusCode: 503,
      error: 'The endpoint answered 503.',
      retryAfterMs: 120_000,
    })
  })

  test('no redirect is followed', async () => {
    const answer = await call(at('redirect'))
    assert.equal(answer?.error, 'The endpoint answered 302: redirects are not followed.')
    assert.deepEqual(
      paths.filter((each) => each.includes('target')),
      [],
    )
  })

  test('silence ends with the time, a body of any length early, a slow body with the time; the status counts', async () => {
    const answer = await callBriefly(at('silence'))
    assert.deepEqual(answer, { statusCode: null, error: 'No answer within 2 seconds.', retryAfterMs: 0 })
    assert.equal((await call(at('endless')))?.error, null)
    assert.equal((await callBriefly(at('dripping')))?.statusCode, 206)
  })

  test('a closed port, an unknown name and a missing TLS are told apart', async () => {
    const closed = await startReceiver(() => {}, { closes: true })
    assert.match((await call(`http://127.0.0.1:${closed}/`))?.error ?? '', /^The connection failed: ECONNREFUSED\.$/)
    assert.equal((await call('http://nowhere.test/'))?.error, 'The host name nowhere.test cannot be resolved.')
    assert.match((await call(`https://127.0.0.1:${port}/`))?.error ?? '', /^The connection failed: E/)
  })

  test('a server with an untrusted certificate gets nothing', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'anneal-tls-'))
    after(() => rmSync(folder, { recursive: true }))
    const [key, cert] = [join(folder, 'key'), join(folder, 'cert')]
    const subject = ['-subj', '/CN=own', '-addext', 'subjectAltName=IP:127.0.0.1']
    const elliptic = ['-newkey', 'ec', '-pkeyopt', 'ec_paramgen_curve:prime256v1', '-nodes']
    await run('openssl', ['req', '-x509', ...elliptic, ...subject, '-keyout', key, '-out', cert])
    let requests = 0
    const server = createTlsServer({ key: readFileSync(key), cert: readFileSync(cert) }, () => requests++)
    await once(server.listen(0, '127.0.0.1'), 'listening')
    after(() => server.close())
    const answer = await call(`https://127.0.0.1:${(server.address() as AddressInfo).port}/`)
    assert.equal(answer?.error, 'The connection failed: DEPTH_ZERO_SELF_SIGNED_CERT.')
    assert.equal(requests, 0)
  })

  test('without TLS only where that is allowed', async () => {
    assert.equal(
      (await call(at('200'), { ...lenient, allowsHttp: false }))?.error,
      'This service calls only https addresses.',
    )
  })

  test('a call that is stopped has no outcome', async () => {
    assert.equal(await call(at('stopping'), lenient, stopping.signal), null)
  })

  test('a name leads to the address that it resolved to, under its own name', async () => {
    names.set('good.test', ['127.0.0.1'])
    assert.equal((await call(`http://good.test:${port}/named`))?.error, null)
    assert.ok(paths.includes(`good.test:${port} /named`))
  })

  const hosts = {
    'a loopback address': '127.0.0.1',
    'the same in decimal': '2130706433',
    'the same in hexadecimal': '0x7f000001',
    'the same in octal': '0177.0.0.1',
    'the same cut short': '127.1',
    'the same in wide digits': '１２７.０.０.１',
    'IPv6 loopback': '[::1]',
    'mapped IPv4': '[::ffff:127.0.0.1]',
    'translated IPv4': '[64:ff9b::7f00:1]',
    'any address': '0.0.0.0',
    'IPv6 any address': '[::]',
    localhost: 'localhost',
    'localhost with a dot': 'localhost.',
    'a name below localhost': 'a.localhost',
    'a name that is private': 'private.test',
    'a name that is link-local': 'metadata.test',
    'a name that is private in IPv6': 'private6.test',
    'a name that is private among others': 'mixed.test',
    'a name that is mapped': 'mapped.test',
  }
  names.set('private.test', ['10.0.0.1'])
  names.set('metadata.test', ['169.254.169.254'])
  names.set('private6.test', ['fd00::1'])
  names.set('mixed.test', ['8.8.8.8', '127.0.0.1'])
  names.set('mapped.test', ['::ffff:127.0.0.1'])
  for (const [what, host] of Object.entries(hosts))
    test(`${what} is refused, and nothing connected to`, async () => {
      const before = connections
      const answer = await call(`http://${host}:${port}/`, strict)
      assert.match(answer?.error ?? '', /an address that this service may not call\.$/)
      assert.equal(connections, before)
    })

  test('connects to the address that was checked, also when the name resolves to another address later', async () => {
    // Whoever asked a second time would get the other address.
    names.setInTurn('rebound.test', ['127.0.0.2'], ['127.0.0.1'])
    const onlySecond = { allowsHttp: true, isCallable: callableAddresses(['127.0.0.2/32']) }
    const before = connections
    const answer = await call(`http://rebound.test:${port}/`, onlySecond)
    assert.match(answer?.error ?? '', /ECONNREFUSED/)
    assert.equal(connections, before)
    assert.equal(names.askedFor('rebound.test'), 1)
  })

  function startReceiver(listener: RequestListener, { closes = false } = {}): Promise<number> {
    const server = createServer(listener).on('connection', () => connections++)
    return new Promise((resolve) => {
      server.listen(0, '127.0.0.1', () => {
        const { port: own } = server.address() as AddressInfo
        if (closes) return void server.close(() => resolve(own))
        after(() => (server.closeAllConnections(), server.close()))
        resolve(own)
      })
    })
  }
})

function writeForEver(response: ServerResponse) {
  response.write(Buffer.alloc(64 * 1024), (error) => {
    if (!error) setImmediate(writeForEver, response)
  })
}

/** Answers A and AAAA over UDP from a table, as RFC 1035 says; other names do not exist. */
async function startNameServer() {
  const table = new Map<string, string[][]>()
  const asked: string[] = []
  const socket: Socket = createSocket('udp4').bind(0, '127.0.0.1')
  await once(socket, 'listening')
  socket.on('message', (query, from) => {
    const { name, type, end } = questionOf(query)
    const isIPv4Question = type === 1
    if (isIPv4Question) asked.push(name)
    const turns = table.get(name)
    const addresses = turns?.[0] ?? []
    if (isIPv4Question && turns && turns.length > 1) turns.shift()
    const records = addresses
      .filter((address) => isIPv4(address) === isIPv4Question)
      .map((each) => recordOf(each, type))
    const head = Buffer.from(query.subarray(0, 12))
    head.writeUInt16BE(turns ? 0x8180 : 0x8183, 2)
    head.writeUInt16BE(records.length, 6)
    head.fill(0, 8)
    socket.send(Buffer.concat([head, query.subarray(12, end), ...records]), from.port, from.address)
  })
  return {
    resolve: createResolveHost([`127.0.0.1:${socket.address().port}`]),
    set: (name: string, addresses: string[]) => void table.set(name, [addresses]),
    setInTurn: (name: string, ...turns: string[][]) => void table.set(name, turns),
    askedFor: (name: string) => asked.filter((each) => each === name).length,
    close: () => void socket.close(),
  }
}

function questionOf(query: Buffer) {
  const labels: string[] = []
  let at = 12
  for (let length = query[at] ?? 0; length > 0; length = query[at] ?? 0) {
    labels.push(query.toString('ascii', at + 1, at + 1 + length))
    at += 1 + length
  }
  return { name: labels.join('.').toLowerCase(), type: query.readUInt16BE(at + 1), end: at + 5 }
}

function recordOf(address: string, type: number): Buffer {
  const bytes = bytesOf(address)
  return Buffer.concat([Buffer.from([0xc0, 12, 0, type, 0, 1, 0, 0, 0, 0, 0, bytes.length]), bytes])
}

function bytesOf(address: string): Buffer {
  if (isIPv4(address)) return Buffer.from(address.split('.').map(Number))
  const groups = (text = '') => text.split(':').flatMap((group) => (group ? group.padStart(4, '0') : []))
  const [before, behind] = new URL(`http://[${address}]`).hostname.slice(1, -1).split('::').map(groups)
  const zeros = 8 - (before?.length ?? 0) - (behind?.length ?? 0)
  return Buffer.from([...(before ?? []), ...Array<string>(zeros).fill('0000'), ...(behind ?? [])].join(''), 'hex')
}
