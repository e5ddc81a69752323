// What an MLflow server may answer: odd answers are its failure, told in a sentence, and bounded.
import assert from 'node:assert/strict'
import { createServer, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { after, test } from 'node:test'
import { createMlflow, TrackerError } from '../../../src/services/trackers/mlflow.ts'
import { createExchange } from '../../../src/services/webhooks/exchange.ts'

let answer: (response: ServerResponse) => void = () => assert.fail('no answer is set')
const server = createServer((request, response) => {
  request.resume()
  answer(response)
})
await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
after(() => server.close())
const trackingUri = `http://127.0.0.1:${(server.address() as AddressInfo).port}`

const mlflow = createMlflow(createExchange({ allowsHttp: true, isCallable: () => true }), {
  trackingUri,
  authorization: null,
  signal: new AbortController().signal,
  beforeCall: () => Promise.resolve(),
})
const mark = { key: 'anneal.tracker', value: 'id' }
const openRun = () => mlflow.openRun('1', mark, { name: 'run', startTime: 0, tags: [] })
const readRun = () => mlflow.readRun('run', 'loss')
const answering = (text: string, status = 200) => {
  answer = (response) => void response.writeHead(status).end(text)
}
const runWith = (metrics: unknown, status: unknown = 'RUNNING') =>
  JSON.stringify({ run: { info: { run_id: 'run', status }, data: { metrics } } })

/** @returns the sentence of the failure */
async function failureOf(call: () => Promise<unknown>): Promise<string> {
  const error = await call().then(
    () => assert.fail('the answer was taken'),
    (why: unknown) => why,
  )
  assert.ok(error instanceof TrackerError, String(error))
  assert.ok(error.message.length < 600, `${error.message.length} characters`)
  assert.doesNotMatch(error.message, /\p{Cc}/u)
  return error.message
}

test('a step of a run is read as a number or as text, and is 0 without one', async () => {
  for (const [metrics, step] of [
    [[{ key: 'loss', step: 7 }], 7],
    [[{ key: 'loss', step: '8' }], 8],
    [[{ key: 'loss' }], 0],
    [[{ key: 'other', step: -1 }], 0],
    [null, 0],
  ]) {
    answering(runWith(metrics))
    assert.equal((await readRun()).lastStep, step)
  }
})

test('a step that no run has is the failure of the server', async () => {
  for (const step of [1e308, -1, 1.5, 10_000_001, '1e308', '9'.repeat(400), {}, true]) {
    answering(runWith([{ key: 'loss', step }]))
    assert.equal(await failureOf(readRun), 'Its answer to runs/get is not that of an MLflow server.')
  }
})

test('an id that is long, empty or has invisible characters is a failure of the server', async () => {
  for (const id of ['x'.repeat(257), 'x'.repeat(500_000), '', 'a\0b', 'a b', 7, null]) {
    answering(JSON.stringify({ runs: [{ info: { run_id: id } }] }))
    assert.match(await failureOf(openRun), /^Its answer to runs\/search .* \(runs\.0\.info\.run_id\)\.$/)
    answering(JSON.stringify({ experiment: { experiment_id: id } }))
    assert.match(await failureOf(() => mlflow.experimentId('x')), /experiment\.experiment_id/)
  }
})

test('HTML, other JSON, deep JSON and no answer are the failure of the server', async () => {
  const deep = '['.repeat(400_000) + ']'.repeat(400_000)
  for (const text of [
    '<html>',
    '',
    'null',
    '[]',
    '7',
    '{"run": []}',
    deep,
    `{"run": ${deep}}`,
    runWith({}),
    runWith([], {}),
  ]) {
    answering(text)
    assert.match(await failureOf(readRun), /^Its answer to runs\/get is not that of an MLflow server/)
  }
})

test('an answer without an end is cut at a size, and its connection is closed', async () => {
  const closed = Promise.withResolvers<number>()
  answer = (response) => {
    let written = 0
    const piece = Buffer.alloc(64 * 1024, 'x')
    const write = () => {
      while (!response.destroyed && response.write(piece)) written += piece.length
    }
    response.on('drain', write).once('close', () => closed.resolve(written))
    write()
  }
  assert.match(await failureOf(readRun), /larger than 1 MiB/)
  assert.ok((await closed.promise) < 64 * 1024 * 1024)
})

test('an answer whose connection ends in the middle is the failure of the server', async () => {
  answer = (response) =>
    void response.writeHead(200, { 'content-length': 100 }).write('{"run"', () => response.destroy())
  assert.match(await failureOf(readRun), /was cut off/)
})

test('a redirect is not followed', async () => {
  answer = (response) => void response.writeHead(302, { location: 'http://127.0.0.1:1/' }).end()
  assert.equal(await failureOf(readRun), 'It answered 302: redirects are not followed.')
})

test('any reason of a refusal is told in a bounded sentence', async () => {
  answering(JSON.stringify({ error_code: 'INVALID_STATE', message: 'a\0b' }), 400)
  assert.equal(await failureOf(readRun), 'It answered 400 (INVALID_STATE: a b).')
  for (const body of [
    { error_code: 'x'.repeat(500_000), message: 'y'.repeat(500_000) },
    { error_code: { toString: 1 }, message: { toString: 1 } },
    { error_code: null, message: ['\0'] },
  ]) {
    answering(JSON.stringify(body), 500)
    assert.match(await failureOf(readRun), /^It answered 500/)
  }
  answering('<html>', 502)
  assert.equal(await failureOf(readRun), 'It answered 502.')
})
