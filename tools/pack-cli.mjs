// Packs the command line alone:   npm run pack:cli
// The package holds the files of src/cli that remote commands use, as JavaScript, and needs no other package. It goes to
// .cache/packages, and its path is printed last.
import { execFileSync } from 'node:child_process'
import { chmodSync, copyFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { root } from './paths.mjs'

const entry = 'src/cli.ts'
const target = join(root, '.cache/packages')

/** Files that are another one in the package, where no repository is. */
const replaced = {
  'src/cli/commands.ts': "export { remoteCommands as commands } from './remote-commands.ts'\n",
  'tools/paths.mjs':
    'export const invocationDir = process.env.INIT_CWD ?? process.cwd()\nexport const root = invocationDir\n',
}

const importPattern = /(?:\bfrom|\bimport|\bimport\()\s*'([^']+)'/g
const importsOf = (text) => [...text.matchAll(importPattern)].map(([, specifier]) => specifier)
const javaScript = (path) => path.replace(/\.ts$/, '.js')

const folder = mkdtempSync(join(tmpdir(), 'anneal-cli-'))
try {
  writeFiles(folder)
  mkdirSync(target, { recursive: true })
  const [{ filename, size, entryCount }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', target], { cwd: folder, encoding: 'utf8' }),
  )
  console.log(`${entryCount} files, ${Math.ceil(size / 1000)} kB`)
  console.log(join(target, filename))
} finally {
  rmSync(folder, { recursive: true })
}

function writeFiles(to) {
  const { version, license } = JSON.parse(readFileSync(join(root, 'package.json'), 'utf8'))
  const about = {
    name: 'anneal-cli',
    version,
    description: 'The command line of Anneal, for a service that runs elsewhere.',
    license,
    type: 'module',
    bin: { anneal: javaScript(entry) },
    engines: { node: '>=22.12' },
  }
  writeFileSync(join(to, 'package.json'), `${JSON.stringify(about, null, 2)}\n`)
  for (const [path, text] of reachable(entry)) {
    const file = join(to, javaScript(path))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, path === entry ? `#!/usr/bin/env node\n${text}` : text)
  }
  chmodSync(join(to, javaScript(entry)), 0o755)
  copyFileSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
  copyFileSync(join(root, 'docs/cli.md'), join(to, 'README.md'))
}

/** The text of each file that the first one needs, by its path, as JavaScript. */
function reachable(first) {
  const texts = new Map()
  const waiting = [first]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (texts.has(path)) continue
    const source = replaced[path] ?? readFileSync(join(root, path), 'utf8')
    const text = path.endsWith('.ts') ? stripTypeScriptTypes(source) : source
    for (const specifier of importsOf(text)) {
      if (specifier.startsWith('node:')) continue
      if (!specifier.startsWith('.'))
        throw new Error(`${path} imports the package ${specifier}, which the command line must not need`)
      waiting.push(join(dirname(path), specifier))
    }
    texts.set(
      path,
      text.replaceAll(importPattern, (whole, specifier) => whole.replace(specifier, javaScript(specifier))),
    )
  }
  return texts
}
