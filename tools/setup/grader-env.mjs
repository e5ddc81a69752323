// The Python environment of graders that are programs, of runtime/graders/requirements.lock. Only who runs such graders needs it.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { digest, readRecord, runtimeDir, stepKeys } from '../paths.mjs'
import { cached } from './cache.mjs'
import { runCommand } from './command.mjs'
import { basePython, findUv, networkHint, pypiEnv } from './uv.mjs'

export function gradersAreReady() {
  const { graders } = readRecord()
  return graders?.key === stepKeys().graders && existsSync(graders.binary)
}

/** @returns {Promise<{key: string, binary: string}>} */
export async function setUpGraders() {
  const uv = await findUv('graders')
  const python = basePython(uv)
  const key = stepKeys().graders
  const name = `graders-${python.version}-${digest(key, python.path).slice(0, 16)}`
  const env = await cached('graders', name, (dir) => install(uv, python, dir))
  return { key, binary: join(env, 'bin/python') }
}

async function install(uv, python, dir) {
  const options = {
    env: pypiEnv(),
    needs: { space: '1 GB', dir: 'the cache folders of uv and anneal' },
    hint: networkHint,
  }
  const venv = [uv, 'venv', '--quiet', '--relocatable', '--allow-existing', '--python', python.path, dir]
  await runCommand('graders', venv, { doing: `making an environment with Python ${python.version}`, ...options })
  const target = ['--quiet', '--python', join(dir, 'bin/python'), '--no-deps', '--require-hashes', '--compile-bytecode']
  const lock = join(runtimeDir, 'graders/requirements.lock')
  await runCommand('graders', [uv, 'pip', 'install', ...target, '-r', lock], {
    doing: 'installing the packages of runtime/graders/requirements.lock',
    ...options,
  })
}
