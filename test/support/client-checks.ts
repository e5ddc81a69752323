// Runs a program that uses the service as a client does and writes a line of JSON for each of its checks.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { patienceMs } from './eventually.ts'

type Check = { check: string; error: string | null }

/** @returns what the program said about each check, and what it wrote to stderr */
export async function checksOf(command: string, args: string[], env: NodeJS.ProcessEnv) {
  const client = spawn(command, args, {
    env: { PATH: process.env['PATH'], ...env },
    stdio: ['ignore', 'pipe', 'pipe'],
    // Some clients wait for ever.
    timeout: patienceMs,
  })
  let chatter = ''
  client.stderr.on('data', (chunk) => (chatter += String(chunk)))
  const results: Check[] = []
  for await (const line of createInterface(client.stdout)) results.push(JSON.parse(line) as Check)
  if (client.killed) chatter += `The client was still at work after ${patienceMs / 60_000} minutes.`
  return { results, chatter }
}
