// Runs npm: as it is, or with the addresses of the packages written into a copy of the lock file.
import { copyFileSync, existsSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { root } from '../paths.mjs'
import { cacheOf } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'

const expectedBytes = 1.2e9

/**
 * The lock file names no addresses, so npm would ask the registry about each of 480 packages first, which takes longer than
 * the packages. Registries put them at one kind of address; where one does not, npm finds them as usual.
 */
export async function npmCi(kind, doing) {
  const scratch = join(root, '.cache/npm')
  rmSync(scratch, { recursive: true, force: true })
  mkdirSync(scratch, { recursive: true })
  for (const file of ['package.json', '.npmrc'])
    if (existsSync(join(root, file))) copyFileSync(join(root, file), join(scratch, file))
  try {
    writeFileSync(join(scratch, 'package-lock.json'), lockWithAddresses())
    await npm(scratch, ['ci', kind, '--prefer-offline'], doing)
    rmSync(join(root, 'node_modules'), { recursive: true, force: true })
    renameSync(join(scratch, 'node_modules'), join(root, 'node_modules'))
  } catch (error) {
    say('node', `${error.message.split('\n')[0]} Trying again without addresses.`)
    await npm(root, ['ci', kind], doing)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

function lockWithAddresses() {
  const registry = (firstLine('npm', ['config', 'get', 'registry'], { cwd: root }) ?? '').replace(/\/$/, '')
  const lock = JSON.parse(readFileSync(join(root, 'package-lock.json'), 'utf8'))
  for (const [path, entry] of Object.entries(lock.packages)) {
    if (path === '' || entry.link) continue
    const name = entry.name ?? path.split('node_modules/').at(-1)
    entry.resolved ??= `${registry}/${name}/-/${name.split('/').at(-1)}-${entry.version}.tgz`
  }
  return JSON.stringify(lock)
}

export async function npm(cwd, args, doing) {
  // npm must not find the Node that it is about to delete.
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => !dir.endsWith('node_modules/.bin'))
    .join(delimiter)
  const env = { ...cacheOf('npm_config_cache', 'npm'), ...process.env, PATH: path }
  if (firstLine('npm', ['--version'], { env }) === null) {
    throw new SetupError('npm is missing or does not run. Install Node 20 or later with npm: https://nodejs.org')
  }
  await runCommand('node', ['npm', ...args, '--include=optional', '--no-audit', '--no-fund'], {
    doing,
    cwd,
    env,
    writes: expectedBytes,
    needs: { space: '1.5 GB', dir: root },
    hint: 'Check that the npm registry answers (npm ping), then run this again; what was downloaded is kept.',
  })
}
