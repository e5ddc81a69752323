// The trainer's methods against TRL, on the same rows: bench/methods.py, with TRL beside the packages of the runtime.
import { spawnSync } from 'node:child_process'
import { toolPath } from '../tools/paths.mjs'
import { packagesBeside } from '../tools/setup/client-env.mjs'

const packages = await packagesBeside('bench/trl.txt')
const env = { ...process.env, PYTHONPATH: `${process.env['PYTHONPATH']}:${packages}` }
const { status } = spawnSync(toolPath('python'), ['bench/methods.py', ...process.argv.slice(2)], {
  env,
  stdio: 'inherit',
})
process.exitCode = status ?? 1
