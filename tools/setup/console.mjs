// The console: packages of its own, in the per-user cache, and the bundle that the api serves. Each version of its source is
// built once; later clones copy the bundle.
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { digest, nodeBinary, root } from '../paths.mjs'
import { writeAtomically } from './cache.mjs'
import { clientPackages } from './client-env.mjs'
import { runCommand } from './command.mjs'
import { leaveCopy, takeCopy } from './copies.mjs'

const folder = join(root, 'console')
const bundle = join(folder, 'dist')
const stamp = join(bundle, '.anneal-stamp')
/** Folders with a lock file of their own. The compiler finds their packages through a link. */
const folders = { console: folder, 'browser-tests': join(root, 'test/console/browser') }

/** @param {boolean} dev whether the packages are wanted too, for the compiler and the linter */
export function consoleIsReady(dev) {
  return stampIs(stamp, sourceKey()) && (!dev || Object.keys(folders).every(packagesAreLinked))
}

/** @param {boolean} dev */
export async function setUpConsole(dev) {
  if (dev) for (const name of Object.keys(folders)) await linkPackages(name)
  if (stampIs(stamp, sourceKey())) return
  const copy = `console-${sourceKey().slice(0, 16)}`
  if (!(await takeCopy('console', 'copied', copy, bundle))) {
    await linkPackages('console')
    rmSync(bundle, { recursive: true, force: true })
    await runCommand('console', [nodeBinary, join(folder, 'node_modules/vite/bin/vite.js'), 'build'], {
      doing: 'building the console',
      cwd: folder,
      needs: { space: '10 MB', dir: folder },
      hint: 'Does the console compile? (npm run verify)',
    })
    await leaveCopy('console', 'copied', copy, bundle)
  }
  writeAtomically(stamp, sourceKey())
}

const packagesStamp = (name) => join(root, `.cache/${name}-packages`)
const packagesAreLinked = (name) =>
  existsSync(join(folders[name], 'node_modules')) && stampIs(packagesStamp(name), packagesKey(name))

async function linkPackages(name) {
  if (packagesAreLinked(name)) return
  const link = join(folders[name], 'node_modules')
  const installed = await clientPackages(folders[name])
  rmSync(link, { recursive: true, force: true })
  symlinkSync(join(installed, 'node_modules'), link)
  writeAtomically(packagesStamp(name), packagesKey(name))
}

const packagesKey = (name) =>
  digest(...['package.json', 'package-lock.json'].map((file) => readFileSync(join(folders[name], file))))

/** Pages of the documentation that the operators' page links to. */
const linkedDocs = ['operations.md', 'reliability.md', 'internal-api.md', 'architecture.md', 'webhooks.md'].map(
  (name) => join(root, 'docs', name),
)

/** Changes with every file that the bundle is made of. */
function sourceKey() {
  const files = ['src', 'public'].flatMap((part) =>
    readdirSync(join(folder, part), { recursive: true, withFileTypes: true })
      .filter((entry) => entry.isFile())
      .map((entry) => join(entry.parentPath ?? entry.path, entry.name)),
  )
  const all = [
    ...files,
    ...['index.html', 'operator.html', 'vite.config.ts', 'tsconfig.json'].map((name) => join(folder, name)),
    ...linkedDocs,
  ].sort((a, b) => (a < b ? -1 : 1))
  return digest(packagesKey('console'), ...all.flatMap((path) => [path.slice(root.length), readFileSync(path)]))
}

function stampIs(path, key) {
  try {
    return readFileSync(path, 'utf8') === key
  } catch {
    return false
  }
}
