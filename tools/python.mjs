// Checks the Python part with the environment of set-up:   node tools/python.mjs verify | test [pytest arguments]
import { spawnSync } from 'node:child_process'
import { delimiter } from 'node:path'
import { runtimeDir, toolPath } from './paths.mjs'

// The Python outside of runtime/ keeps the same rules.
const sources = ['.', '../src', '../bench']

const commands = {
  verify: [
    ['ruff', 'format', '--check', '--config', 'pyproject.toml', ...sources],
    ['ruff', 'check', '--config', 'pyproject.toml', ...sources],
    ['mypy'],
  ],
  test: [['pytest', ...process.argv.slice(3)]],
}

const wanted = commands[process.argv[2]]
if (!wanted) {
  console.error('node tools/python.mjs verify | test [pytest arguments]')
  process.exit(2)
}
const python = toolPath('python')
const env = {
  ...process.env,
  PYTHONPATH: [runtimeDir, toolPath('pythonTools'), process.env.PYTHONPATH].filter(Boolean).join(delimiter),
  // One thread: more made the trainer three times slower on busy cores.
  OMP_NUM_THREADS: '1',
  GOMP_SPINCOUNT: '10000',
}
for (const [module, ...args] of wanted) {
  const { status } = spawnSync(python, ['-m', module, ...args], { cwd: runtimeDir, env, stdio: 'inherit' })
  if (status !== 0) {
    console.error(`${module} ${args.join(' ')} failed in runtime/`)
    process.exit(1)
  }
}
