// Runs a script of checks with an official SDK, with nothing set but OPENAI_BASE_URL and OPENAI_API_KEY.
import assert from 'node:assert/strict'
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { test } from 'node:test'
import { root } from '../../../tools/paths.mjs'
import { checksOf } from '../../support/client-checks.ts'
import { connection, openAccount } from '../../support/stack.ts'

export const source = join(root, 'test/clients/openai')

/** Runs the program that `prepare` makes in a folder of its own, on an account of its own. */
export async function runChecks(prepare: (folder: string) => Promise<{ command: string; script: string }>) {
  const folder = mkdtempSync(join(tmpdir(), 'anneal-openai-'))
  try {
    const chatFile = join(folder, 'chat.jsonl')
    writeFileSync(chatFile, conversations())
    const { command, script } = await prepare(folder)
    const { apiKey } = await openAccount()
    return await checksOf(command, [script], {
      OPENAI_BASE_URL: `${connection().apiUrl}/openai/v1`,
      OPENAI_API_KEY: apiKey,
      BASE_MODEL: connection().baseModel,
      CHAT_FILE: chatFile,
    })
  } finally {
    rmSync(folder, { recursive: true, force: true })
  }
}

export function expectAll({ results, chatter }: Awaited<ReturnType<typeof runChecks>>, count: number) {
  for (const { check, error } of results) test(check, () => void (error !== null && assert.fail(error)))
  test('ran all its checks', () => assert.equal(results.length, count, chatter))
}

/** Some of the sample rows as conversations: more take longer to learn and show nothing else. */
function conversations(): string {
  const lines = readFileSync(join(root, 'models/samples/products.jsonl'), 'utf8').split('\n').slice(0, 12)
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
