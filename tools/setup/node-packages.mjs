// npm packages from the lock file, the Node that runs everything else, and Prisma's generated client.
import { existsSync, readFileSync, symlinkSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { nodeBinary, root, stamps, stepKeys } from '../paths.mjs'
import { withLock, writeAtomically } from './cache.mjs'
import { firstLine, runCommand } from './command.mjs'
import { say, SetupError } from './report.mjs'

const oldestNode = [24, 18]

export function nodeIsReady() {
  return stampIs('node') && stampIs('prisma') && existsSync(nodeBinary)
}

export function setUpNode() {
  return withLock('node', join(root, '.cache/node.lock'), async () => {
    if (!stampIs('node')) await installPackages()
    linkNode()
    if (!stampIs('prisma')) await generatePrismaClient()
  })
}

async function installPackages() {
  // npm must not find the Node that it is about to delete.
  const path = (process.env.PATH ?? '')
    .split(delimiter)
    .filter((dir) => !dir.endsWith('node_modules/.bin'))
    .join(delimiter)
  const env = { ...process.env, PATH: path }
  if (firstLine('npm', ['--version'], { env }) === null) {
    throw new SetupError('npm is missing or does not run. Install Node 20 or later with npm: https://nodejs.org')
  }
  await runCommand('node', ['npm', 'ci', '--include=dev', '--include=optional', '--no-audit', '--no-fund'], {
    doing: 'installing the npm packages of package-lock.json (about 1 GB; a minute, longer the first time)',
    cwd: root,
    env,
    needs: { space: '1.5 GB', dir: root },
    hint: 'Check that the npm registry answers (npm ping), then run this again; what was downloaded is kept.',
  })
  writeAtomically(stamps.node, stepKeys().node)
}

/** The npm package node-linux-* brings Node 24; elsewhere the machine's own has to do. */
function linkNode() {
  if (existsSync(nodeBinary)) return
  const [major = 0, minor = 0] = process.versions.node.split('.').map(Number)
  if (major !== oldestNode[0] || minor < oldestNode[1]) {
    throw new SetupError(
      `No npm package carries Node 24 for ${process.platform}-${process.arch}, and this is Node ${process.versions.node}. ` +
        `Install Node 24.18 or a later 24 (nvm install, or https://nodejs.org) and run this again with it.`,
    )
  }
  symlinkSync(process.execPath, nodeBinary)
  say('node', `using ${process.execPath} (${process.versions.node})`)
}

async function generatePrismaClient() {
  await runCommand('node', [nodeBinary, join(root, 'node_modules/prisma/build/index.js'), 'generate'], {
    doing: 'generating the database client from prisma/schema.prisma',
    cwd: root,
    needs: { space: '50 MB', dir: root },
    hint: 'Is prisma/schema.prisma valid? (node_modules/.bin/prisma validate)',
  })
  writeAtomically(stamps.prisma, stepKeys().prisma)
}

function stampIs(step) {
  try {
    return readFileSync(stamps[step], 'utf8') === stepKeys()[step]
  } catch {
    return false
  }
}
