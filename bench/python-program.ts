// A Python program of bench/ that answers each line of JSON with a line of JSON, so that it can be measured in turn with the service.
import { spawn } from 'node:child_process'
import { createInterface } from 'node:readline'
import { toolPath } from '../tools/paths.mjs'

export function startPython(script: string, env: NodeJS.ProcessEnv = process.env) {
  const child = spawn(toolPath('python'), [script], { env, stdio: ['pipe', 'pipe', 'inherit'] })
  const lines = createInterface({ input: child.stdout })[Symbol.asyncIterator]()
  return {
    /** @throws if the program has ended */
    async ask<T>(question: unknown): Promise<T> {
      child.stdin.write(`${JSON.stringify(question)}\n`)
      const { value, done } = await lines.next()
      if (done) throw new Error(`${script} ended without an answer`)
      return JSON.parse(String(value)) as T
    },
    end: () => child.stdin.end(),
  }
}
