// The registries that the steps still to be done download from, asked through the programs that will do it: these know the
// proxies, mirrors and authorities of the machine.
import { execFile } from 'node:child_process'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { firstPython } from '../setup/uv.mjs'

const timeoutMs = 20_000

/** @param {string[]} missing steps that are not done */
export async function checkRegistries(missing) {
  const checks = []
  if (missing.includes('node'))
    checks.push(check('npm', 'npm', ['ping', '--fetch-retries=0'], 'npm config get registry, proxy'))
  if (missing.includes('python')) {
    const python = firstPython()?.path
    const pip = [
      '-m',
      'pip',
      'install',
      '--dry-run',
      '--quiet',
      '--no-deps',
      '--ignore-installed',
      // Pip says only before a further try why a connection failed.
      '--retries=1',
      'colorama==0.4.6',
    ]
    if (python) checks.push(check('PyPI', python, pip, 'pip config list, HTTPS_PROXY'))
  }
  return (await Promise.all(checks)).filter(Boolean)
}

async function check(registry, command, args, where) {
  const name = 'network'
  try {
    // Pip refuses even a dry run with a system's own Python otherwise.
    const env = { ...process.env, PIP_BREAK_SYSTEM_PACKAGES: '1' }
    await promisify(execFile)(command, args, { cwd: tmpdir(), env, timeout: timeoutMs })
    return { state: 'ok', name, text: `${registry} answers` }
  } catch (error) {
    // Not there: another line says so.
    if (error.code === 'ENOENT' || /No module named pip/.test(error.stderr)) return null
    if (error.killed) {
      const text = `${registry} has not answered for ${timeoutMs / 1000} s`
      return { state: 'warning', name, text, next: 'The network is slow, or drops what it does not allow.' }
    }
    return {
      state: 'problem',
      name,
      text: `${registry} does not answer: ${reason(error).slice(0, 160)}`,
      next: `Check the network and what is configured (${where}).`,
    }
  }
}

function reason(error) {
  const broken = /connection broken by '(.+)': \//.exec(error.stderr)?.[1]
  const line = String(error.stderr)
    .split('\n')
    .find((each) => /error/i.test(each))
  return (broken ?? line ?? error.message).trim()
}
