// An assistant: the client of the Model Context Protocol's SDK with `anneal mcp` as its server.
import assert from 'node:assert/strict'
import { Client } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'
import { root } from '../../tools/paths.mjs'

type Content = { isError?: boolean; content: { type: string; text: string }[] }

type Program = { command: string; args: string[]; cwd: string }
const ours: Program = { command: process.execPath, args: ['src/cli.ts', 'mcp'], cwd: root }

/** Close its `client` at the end. */
export async function connectAssistant(environment: Record<string, string>, program = ours) {
  const client = new Client({ name: 'test', version: '1' })
  const env = { ...(process.env as Record<string, string>), ...environment }
  await client.connect(new StdioClientTransport({ ...program, env }))
  const call = async (name: string, args: Record<string, unknown>) =>
    (await client.callTool({ name, arguments: args })) as Content
  return {
    client,
    call,
    refusal: async (name: string, args: Record<string, unknown>) => {
      const { isError, content } = await call(name, args)
      assert.equal(isError, true, content[0]?.text)
      return content[0]?.text ?? ''
    },
    ask: async <T>(name: string, args: Record<string, unknown>): Promise<T> => {
      const { isError, content } = await call(name, args)
      assert.ok(!isError, content[0]?.text)
      return JSON.parse(content[0]?.text ?? '') as T
    },
  }
}
