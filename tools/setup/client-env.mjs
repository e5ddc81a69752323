// Environments of their own for clients that are tested, in the per-user cache: what they need is no need of the service.
import { copyFileSync, readFileSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, digest, root, toolPath } from '../paths.mjs'
import { cached } from './cache.mjs'
import { runCommand } from './command.mjs'
import { findUv, pypiEnv } from './uv.mjs'

const fromPyPI = (space) => ({
  env: pypiEnv(),
  cwd: root,
  needs: { space, dir: cacheDir },
  hint: 'Check that PyPI answers, then run this again.',
})

/** @returns the folder of the environment with exactly the packages of this requirements file, which take this space */
export async function clientEnv(requirements, { space = '1 GB' } = {}) {
  const uv = await findUv('clients')
  const python = toolPath('python')
  const name = `client-${digest(readFileSync(requirements), python).slice(0, 16)}`
  return cached('clients', name, async (dir) => {
    const options = fromPyPI(space)
    const venv = [uv, 'venv', '--quiet', '--relocatable', '--allow-existing', '--python', python, dir]
    await runCommand('clients', venv, { doing: `making an environment for ${requirements}`, ...options })
    const sync = [uv, 'pip', 'sync', '--quiet', '--python', join(dir, 'bin/python'), '--require-hashes', requirements]
    await runCommand('clients', sync, { doing: `installing ${requirements}`, ...options })
  })
}

/** @returns a folder for PYTHONPATH with exactly the packages of this requirements file, for use with those of our own environment */
export async function packagesBeside(requirements) {
  const uv = await findUv('clients')
  const python = toolPath('python')
  const name = `beside-${digest(readFileSync(requirements), python).slice(0, 16)}`
  return cached('clients', name, (dir) =>
    runCommand(
      'clients',
      [
        uv,
        'pip',
        'install',
        '--quiet',
        '--no-deps',
        '--python',
        python,
        '--target',
        dir,
        '--require-hashes',
        '-r',
        requirements,
      ],
      {
        doing: `installing ${requirements}`,
        ...fromPyPI('500 MB'),
      },
    ),
  )
}

/**
 * @param withOptional false leaves out optional packages, which a lock file may name without their versions
 * @returns the folder with exactly the npm packages of the lock file in `source`
 */
export async function clientPackages(source, { withOptional = true } = {}) {
  const files = ['package.json', 'package-lock.json']
  const contents = files.map((file) => readFileSync(join(source, file)))
  return cached('clients', `client-npm-${digest(...contents).slice(0, 16)}`, async (dir) => {
    for (const file of files) copyFileSync(join(source, file), join(dir, file))
    const install = withOptional ? ['ci'] : ['install', '--omit=optional']
    await runCommand('clients', ['npm', ...install, '--ignore-scripts', '--no-audit', '--no-fund'], {
      doing: `installing the npm packages of ${source}`,
      cwd: dir,
      needs: { space: '100 MB', dir: cacheDir },
      hint: 'Check that the npm registry answers (npm ping), then run this again.',
    })
  })
}
