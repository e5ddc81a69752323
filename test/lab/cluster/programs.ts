// Runs a program and returns its output. The error of a failed program has the program's own message.
import { execFile } from 'node:child_process'
import { promisify } from 'node:util'

const execute = promisify(execFile)

export async function output(
  command: string,
  args: string[],
  options: { input?: string; cwd?: string; withErrors?: true } = {},
) {
  const { input, withErrors, ...rest } = options
  const running = execute(command, args, { ...rest, maxBuffer: 64 << 20 })
  if (input !== undefined) running.child.stdin?.end(input)
  try {
    const { stdout, stderr } = await running
    return (withErrors ? `${stdout}\n${stderr}` : stdout).trim()
  } catch (error) {
    const { stderr, message } = error as { stderr?: string; message: string }
    throw new Error(`${command} ${args.slice(0, 4).join(' ')} failed: ${stderr?.trim() || message}`)
  }
}
