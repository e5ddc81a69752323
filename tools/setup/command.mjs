// Runs the tools of set-up: quiet while they go well (their progress is shown), their last lines when they fail.
import { spawn, spawnSync } from 'node:child_process'
import { readFileSync } from 'node:fs'
import { say, showProgress } from './progress.mjs'
import { diskFull, duration, SetupError } from './report.mjs'

const running = new Set()

/** Set-up was interrupted: its tools must not go on alone. */
export function killCommands() {
  for (const child of running) child.kill('SIGTERM')
}

/** First line of a program's output, or null when it is absent, fails or takes longer than 20 s. */
export function firstLine(command, args, options = {}) {
  const { status, stdout } = spawnSync(command, args, { encoding: 'utf8', timeout: 20_000, ...options })
  return status === 0 ? stdout.trim() : null
}

/**
 * @param {string} step
 * @param {string[]} argv
 * @param {{doing: string, cwd?: string, env?: NodeJS.ProcessEnv, needs: {space: string, dir: string}, hint: string,
 *   writes?: number, packages?: number}} options about how many bytes it writes, or how many packages it names while it works
 */
export async function runCommand(step, [command, ...args], { doing, cwd, env, needs, hint, writes, packages }) {
  say(step, doing)
  const startedAt = performance.now()
  const child = spawn(command, args, { cwd, env, stdio: ['ignore', 'pipe', 'pipe'] })
  running.add(child)
  let output = ''
  let lines = 0
  for (const stream of [child.stdout, child.stderr])
    stream.on('data', (text) => {
      output = (output + text).slice(-20_000)
      lines += String(text).split('\n').length - 1
    })
  const hide = showProgress(
    step,
    packages
      ? { total: packages, unit: 'packages', done: () => lines }
      : { total: writes ?? 0, unit: 'bytes', done: () => bytesWritten(child.pid) },
  )
  const failure = await new Promise((resolve) => {
    child.once('error', (error) => resolve(error.message))
    child.once('close', (code, signal) => resolve(code === 0 ? null : `exit ${signal ?? code}`))
  })
  hide()
  running.delete(child)
  if (failure === null) return say(step, `done in ${duration(performance.now() - startedAt)}`)
  if (/ENOSPC|no space left on device/i.test(output)) throw diskFull(needs.dir, needs.space)
  const last = output.trimEnd().split('\n').slice(-8).join('\n    ')
  throw new SetupError(`${[command, ...args].join(' ').slice(0, 200)} failed (${failure}):\n    ${last}\n  ${hint}`)
}

/** 0 where the system does not say it (Linux does). */
function bytesWritten(pid) {
  try {
    return Number(/^wchar: (\d+)$/m.exec(readFileSync(`/proc/${pid}/io`, 'utf8'))?.[1] ?? 0)
  } catch {
    return 0
  }
}
