// A machine with nothing but a shell: a PATH and a home of its own.
import { execFile, execFileSync } from 'node:child_process'
import { chmodSync, existsSync, mkdirSync, readdirSync, symlinkSync, writeFileSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { makeHome } from '../../embedded/support/stack-process.ts'

type Outcome = { code: number; output: string }

export function runNode(args: string[], env: Record<string, string>): Promise<Outcome> {
  return new Promise((resolve) => {
    execFile(process.execPath, args, { cwd: root, env }, (error, stdout, stderr) => {
      resolve({ code: error ? Number(error.code) : 0, output: stdout + stderr })
    })
  })
}

export function bareMachine() {
  const { dir, remove } = makeHome()
  const bin = join(dir, 'bin')
  mkdirSync(bin)
  symlinkSync(execFileSync('which', ['sh'], { encoding: 'utf8' }).trim(), join(bin, 'sh'))
  const env = { PATH: bin, HOME: dir, ANNEAL_CACHE_DIR: join(dir, 'cache') }
  /** Puts a shell script on the PATH. */
  const install = (name: string, script: string) => {
    writeFileSync(join(bin, name), `#!/bin/sh\n${script}\n`)
    chmodSync(join(bin, name), 0o755)
  }
  /** What a set-up left in the cache for the next one, besides what that deletes or uses again. */
  const leftInCache = () => {
    const entries = existsSync(env.ANNEAL_CACHE_DIR) ? readdirSync(env.ANNEAL_CACHE_DIR) : []
    return entries.filter((entry) => !entry.includes('.tmp-') && !entry.endsWith('.build'))
  }
  const setUp = (only: string) => runNode(['tools/setup.mjs', '--only', only], env)
  return { dir, bin, env, install, leftInCache, setUp, remove }
}
