// uv, which installs Python's packages, and a Python for it: the machine's own, else uv's.
import { join } from 'node:path'
import { cached, cacheOf } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { root } from '../paths.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'

const uvVersion = '0.13.8'
// 3.14 last: the newest Python is the likeliest to lack a wheel.
const pythonNames = ['python3.13', 'python3.12', 'python3.11', 'python3', 'python', 'python3.14']
export const networkHint = 'Check that PyPI answers, then run this again; what was downloaded is kept.'

/** Companies put their own authority into the system's store; uv would look into its own only. Older ones know the second name. */
export const pypiEnv = () => ({
  UV_SYSTEM_CERTS: '1',
  UV_NATIVE_TLS: '1',
  ...cacheOf('UV_CACHE_DIR', 'uv'),
  ...process.env,
})

/** uv of the machine, or our own from PyPI. */
export async function findUv(step = 'python') {
  const [, major, minor] = /^uv (\d+)\.(\d+)/.exec(firstLine('uv', ['--version']) ?? '') ?? []
  if (Number(major) > 0 || Number(minor) >= 7) return 'uv'
  const python = firstPython()
  if (!python) throw missingPython()
  const dir = await cached(step, `uv-${uvVersion}`, (target) => installUv(step, python.path, target))
  return join(dir, 'bin/uv')
}

async function installUv(step, python, target) {
  const options = {
    needs: { space: '100 MB', dir: target },
    hint: `${networkHint} Or install uv: https://docs.astral.sh/uv`,
  }
  const lock = ['--require-hashes', '--only-binary', ':all:', '-r', join(root, 'tools/python/uv.txt')]
  if (firstLine(python, ['-m', 'pip', '--version']) !== null) {
    return runCommand(step, [python, '-m', 'pip', 'install', '--quiet', '--target', target, ...lock], {
      doing: `installing uv ${uvVersion}`,
      ...options,
    })
  }
  // Debian's Python comes without pip; a virtual environment brings its own where python3-venv is installed.
  await runCommand(step, [python, '-m', 'venv', target], {
    doing: 'this Python has no pip; trying a virtual environment',
    ...options,
    hint: 'Install pip or venv for this Python (Debian: apt install python3-pip python3-venv), or uv: https://docs.astral.sh/uv',
  })
  await runCommand(step, [join(target, 'bin/python'), '-m', 'pip', 'install', '--quiet', ...lock], {
    doing: `installing uv ${uvVersion}`,
    ...options,
  })
}

/** @returns {{version: string, path: string}} */
export function basePython(uv) {
  const python = firstPython()
  if (python) return python
  // None on the PATH: uv may know one, or fetch it.
  say('python', 'no Python 3.11 or later on the PATH; asking uv for one')
  const path =
    firstLine(uv, ['python', 'find', '>=3.11,<3.15']) ?? (fetchPython(uv), firstLine(uv, ['python', 'find', '3.13']))
  const found = path === null ? null : inspect(path)
  if (!found) throw missingPython()
  return found
}

function fetchPython(uv) {
  firstLine(uv, ['python', 'install', '3.13'], { timeout: 300_000 })
}

export function firstPython() {
  for (const name of pythonNames) {
    const python = inspect(name)
    if (python) return python
  }
  return null
}

function inspect(command) {
  // The base interpreter, not the virtual environment somebody happens to be in.
  const script =
    'import sys; print(sys.implementation.name, sys.version_info[0], sys.version_info[1], getattr(sys, "_base_executable", sys.executable))'
  const [name, major, minor, ...path] = (firstLine(command, ['-c', script]) ?? '').split(' ')
  const usable = name === 'cpython' && major === '3' && Number(minor) >= 11 && Number(minor) <= 14
  return usable ? { version: `${major}.${minor}`, path: path.join(' ') } : null
}

function missingPython() {
  return new SetupError(
    'PyTorch needs Python 3.11 to 3.14, and none was found. Install Python (Debian and Ubuntu: apt install python3 python3-venv; ' +
      'macOS: brew install python@3.13), or uv, which brings Python: https://docs.astral.sh/uv',
  )
}
