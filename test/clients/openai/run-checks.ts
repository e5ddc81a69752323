// Runs a script of checks with an official SDK, with nothing set but OPENAI_BASE_URL and OPENAI_API_KEY.
import assert from 'node:assert/strict'
import { spawn } from 'node:child_process'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import { test } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { patienceMs } from '../../support/eventually.ts'
import { connection, openAccount } from '../../support/stack.ts'

export const source = join(root, 'test/clients/openai')

/** Runs the program that `prepare` makes in a folder of its own, on an account of its own. */
export async function runChecks(prepare: (folder: string) => Promise<{ command: string; script: string }>) {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-openai-'))
  try {
    const chatFile = join(folder, 'chat.jsonl')
    writeFileSync(chatFile, conversations())
    const { command, script } = await prepare(folder)
    return await checksOf(command, [script], chatFile)
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

async function checksOf(command: string, args: string[], chatFile: string) {
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

export function expectAll({ results, chatter }: Awaited<ReturnType<typeof runChecks>>, count: number) {
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
