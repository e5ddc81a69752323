// npm packages from the lock file, the Node that runs everything else, Prisma's generated client, and the console.
import { existsSync, readdirSync, readFileSync, rmSync, symlinkSync } from 'node:fs'
import { join } from 'node:path'
import { digest, nodeBinary, root, stamps, stepKeys } from '../paths.mjs'
import { withLock, writeAtomically } from './cache.mjs'
import { runCommand } from './command.mjs'
import { consoleIsReady, setUpConsole } from './console.mjs'
import { leaveCopy, takeCopy } from './copies.mjs'
import { npm, npmCi } from './npm.mjs'
import { say } from './progress.mjs'
import { SetupError } from './report.mjs'

const oldestNode = [24, 18]

/** @param {boolean} dev whether the development tools are wanted as well */
export function nodeIsReady(dev) {
  const isReady = stampIs('node') && stampIs('prisma') && existsSync(nodeBinary) && (!dev || stampIs('node-tools'))
  return isReady && consoleIsReady(dev)
}

export function setUpNode(dev) {
  return withLock('node', join(root, '.cache/node.lock'), async () => {
    // Whoever had the development tools keeps them when the lock file changes.
    if (!stampIs('node')) await installPackages(dev || existsSync(stamps['node-tools']))
    else if (dev && !stampIs('node-tools')) await addTools()
    linkNode()
    if (!stampIs('prisma')) await generatePrismaClient()
    // It is built by the Node of this step.
    if (!consoleIsReady(dev)) await setUpConsole(dev)
  })
}

async function installPackages(dev) {
  const path = join(root, 'node_modules')
  const copy = `node-${digest(stepKeys().node, String(dev)).slice(0, 16)}`
  if (!(await takeCopy('node', 'linked', copy, path))) {
    const doing = `installing the npm packages of package-lock.json${dev ? ' with the development tools' : ''}`
    await npmCi(dev ? '--include=dev' : '--omit=dev', doing)
    prune()
    await leaveCopy('node', 'linked', copy, path)
  }
  writeAtomically(stamps.node, stepKeys().node)
  if (dev) writeAtomically(stamps['node-tools'], stepKeys()['node-tools'])
}

/** Not by `npm ci`, which would first delete what a running service uses. */
async function addTools() {
  await npm(
    root,
    ['install', '--no-save', '--include=dev', '--prefer-offline'],
    'adding the development tools of package-lock.json',
  )
  writeAtomically(stamps['node-tools'], stepKeys()['node-tools'])
}

/** Temporal's core comes for five systems in one package, and Node with headers for compilers: 180 MB that nothing here reads. */
function prune() {
  const packages = join(root, 'node_modules')
  const releases = join(packages, '@temporalio/core-bridge/releases')
  const machine = { x64: 'x86_64', arm64: 'aarch64' }[process.arch]
  const system = { linux: 'linux', darwin: 'darwin' }[process.platform]
  const ours = readdirSync(releases).filter((release) => release.startsWith(`${machine}-`) && release.includes(system))
  if (ours.length === 0) return
  const unused = readdirSync(releases).filter((release) => !ours.includes(release))
  for (const release of unused) rmSync(join(releases, release), { recursive: true })
  for (const node of readdirSync(packages).filter((name) => name.startsWith('node-linux-')))
    rmSync(join(packages, node, 'include'), { recursive: true, force: true })
}

/** The npm package node-linux-* brings Node 24; elsewhere the machine's own has to do. */
function linkNode() {
  if (existsSync(nodeBinary)) return
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major !== oldestNode[0] || minor < oldestNode[1]) {
    throw new SetupError(
      `No npm package has Node 24 for ${process.platform}-${process.arch}, and the installed Node is ${process.versions.node}. ` +
        `Install Node 24.18 or a later 24 (nvm install, or https://nodejs.org), then run this command again.`,
    )
  }
  symlinkSync(process.execPath, nodeBinary)
  say('node', `using ${process.execPath} (${process.versions.node})`)
}

async function generatePrismaClient() {
  const path = join(root, 'generated')
  const copy = `generated-${stepKeys().prisma.slice(0, 16)}`
  if (!(await takeCopy('node', 'copied', copy, path))) {
    await runCommand('node', [nodeBinary, join(root, 'node_modules/prisma/build/index.js'), 'generate'], {
      doing: 'generating the database client from prisma/schema.prisma',
      cwd: root,
      needs: { space: '50 MB', dir: root },
      hint: 'Is prisma/schema.prisma valid? (node_modules/.bin/prisma validate)',
    })
    await leaveCopy('node', 'copied', copy, path)
  }
  writeAtomically(stamps.prisma, stepKeys().prisma)
}

function stampIs(step) {
  try {
    return readFileSync(stamps[step], 'utf8') === stepKeys()[step]
  } catch {
    return false
  }
}
