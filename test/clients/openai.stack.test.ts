// The official openai SDKs, of Python and of Node, with nothing set but OPENAI_BASE_URL and OPENAI_API_KEY.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { copyFileSync, mkdtempSync, readFileSync, rmSync, symlinkSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { suite, test } from 'node:test'
import { root } from '../../tools/paths.mjs'
import { clientEnv, clientPackages } from '../../tools/setup/client-env.mjs'
import { connection, openAccount } from '../support/stack.ts'
import { patienceMs } from '../support/eventually.ts'

const source = join(root, 'test/clients/openai')

// Before the first suite is named: the runner may take a file to be over once its suites are.
const folder = mkdtempSync(join(tmpdir(), 'anneal-openai-'))
const chatFile = join(folder, 'chat.jsonl')
const { ofPython, ofNode } = await runAll().finally(() => rmSync(folder, { recursive: true, force: true }))

suite('openai for Python', () => expectAll(ofPython, 15))
suite('openai for Node', () => expectAll(ofNode, 10))

/** One after the other: the stack trains one job at a time. */
async function runAll() {
  writeFileSync(chatFile, conversations())
  const env = await clientEnv(join(source, 'requirements.txt'))
  const ofPython = await checksOf(join(env, 'bin/python'), [join(source, 'main_job.py')])
  const packages = await clientPackages(source)
  const script = join(folder, 'main-job.mjs')
  copyFileSync(join(source, 'main-job.mjs'), script)
  symlinkSync(join(packages, 'node_modules'), join(folder, 'node_modules'))
  return { ofPython, ofNode: await checksOf(process.execPath, [script]) }
}

async function checksOf(command: string, args: string[]) {
  const { apiKey } = await openAccount()
  const client = spawn(command, args, {
    env: {
      PATH: process.env['PATH'],
      OPENAI_BASE_URL: `${connection().apiUrl}/openai/v1`,
      OPENAI_API_KEY: apiKey,
      BASE_MODEL: connection().baseModel,
      CHAT_FILE: chatFile,
    },
    stdio: ['ignore', 'pipe', 'pipe'],
    timeout: patienceMs,
  })
  let chatter = ''
  client.stderr.on('data', (chunk) => (chatter += String(chunk)))
  const results: { check: string; error: string | null }[] = []
  for await (const line of createInterface(client.stdout)) results.push(JSON.parse(line))
  return { results, chatter }
}

function expectAll({ results, chatter }: Awaited<ReturnType<typeof checksOf>>, count: number) {
  for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
  test('ran all its checks', () => assert.equal(results.length, count, chatter))
}

/** The sample rows as conversations. */
function conversations(): string {
  const lines = readFileSync(join(root, 'models/samples/products.jsonl'), 'utf8').trim().split('\n')
  const rows = lines.map((line) => {
    const { input, output } = JSON.parse(line) as { input: string; output: string }
    const question = /^Question: (.*)\nAnswer: $/.exec(input)?.[1] ?? assert.fail(input)
    const messages = [
      { role: 'user', content: question },
      { role: 'assistant', content: output },
    ]
    return `${JSON.stringify({ messages })}\n`
  })
  return rows.join('')
}
