// A service that only records what it is asked and gives prepared answers, and the command line that asks it.
import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { createServer } from 'node:http'
import type { AddressInfo } from 'node:net'
import { join } from 'node:path'
import { text } from 'node:stream/consumers'
import { after } from 'node:test'
import { root } from '../../tools/paths.mjs'

type Asked = { method: string; url: string; body: string }
/** `body` is sent as JSON, unless `text` is there. */
export type Prepared = { status?: number; headers?: Record<string, string>; body?: unknown; text?: string }

/** Closed after the tests of the file. `answer` also gets all questions until now, and the address of the service. */
export async function startRecordingService(
  answer: (question: Asked, service: { asked: Asked[]; url: string }) => Prepared,
) {
  const asked: Asked[] = []
  const origin = () => `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  const server = createServer(async (request, response) => {
    const { method = '', url = '' } = request
    const question = { method, url, body: await text(request) }
    asked.push(question)
    const {
      status = 200,
      headers = {},
      body,
      text: plain = JSON.stringify(body),
    } = answer(question, { asked, url: origin() })
    response.writeHead(status, { 'Content-Type': 'application/json', ...headers }).end(plain)
  }).listen(0, '127.0.0.1')
  await once(server, 'listening')
  after(() => server.close())

  /** Runs a command of `anneal` against the service. */
  async function anneal(args: readonly string[], input = '') {
    const user = { ANNEAL_URL: origin(), ANNEAL_API_KEY: 'ank_test' }
    const operator = { ANNEAL_ADMIN_URL: origin(), ANNEAL_ADMIN_TOKEN: 'test' }
    const env = { ...process.env, ...user, ...operator }
    const child = spawn(process.execPath, [join(root, 'src/cli.ts'), ...args], { env })
    // A program may end without reading its input.
    child.stdin.on('error', () => undefined)
    child.stdin.end(input)
    const [stdout, stderr, [code]] = await Promise.all([text(child.stdout), text(child.stderr), once(child, 'close')])
    return { stdout, stderr, code: code as number }
  }
  return { asked, anneal }
}
