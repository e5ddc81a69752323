// Packs the command line alone:   npm run pack:cli
// The package holds the files of src/cli that remote commands use, as JavaScript, and needs no other package: those of the
// Model Context Protocol and of OpenID Connect are bundled into the two files that import them. It goes to .cache/packages, and its path is printed last.
import { execFileSync } from 'node:child_process'
import {
  chmodSync,
  copyFileSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  rmSync,
  writeFileSync,
} from 'node:fs'
import { stripTypeScriptTypes } from 'node:module'
import { tmpdir } from 'node:os'
import { dirname, join } from 'node:path'
import { pathToFileURL } from 'node:url'
import { root } from './paths.mjs'

const entry = 'src/cli.ts'
/** The only files that import packages. */
const bundled = ['src/cli/mcp/sdk.ts', 'src/cli/remote/oidc-sdk.ts']
const target = join(root, '.cache/packages')

/** Files that are another one in the package, where no repository is. */
const replaced = {
  'src/cli/commands.ts': "export { remoteCommands as commands } from './remote-commands.ts'\n",
  'tools/paths.mjs':
    'export const invocationDir = process.env.INIT_CWD ?? process.cwd()\nexport const root = invocationDir\n',
}

// Vite is a package of the console, which has a lock file of its own.
const { build, parseSync } = await import(
  pathToFileURL(join(root, 'console/node_modules/vite/dist/node/index.js')).href
)

const javaScript = (path) => path.replace(/\.ts$/, '.js')

const folder = mkdtempSync(join(tmpdir(), 'anneal-cli-'))
try {
  await writeFiles(folder)
  mkdirSync(target, { recursive: true })
  const [{ filename, size, entryCount }] = JSON.parse(
    execFileSync('npm', ['pack', '--json', '--pack-destination', target], { cwd: folder, encoding: 'utf8' }),
  )
  console.log(`${entryCount} files, ${Math.ceil(size / 1000)} kB`)
  console.log(join(target, filename))
} finally {
  rmSync(folder, { recursive: true })
}

async function writeFiles(to) {
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
  const bundles = []
  for (const path of bundled) bundles.push([path, await bundle(path)])
  const codes = bundles.map(([path, { code }]) => [path, code])
  for (const [path, text] of new Map([...reachable(entry), ...codes])) {
    const file = join(to, javaScript(path))
    mkdirSync(dirname(file), { recursive: true })
    writeFileSync(file, path === entry ? `#!/usr/bin/env node\n${text}` : text)
  }
  writeFileSync(join(to, 'LICENSES-OF-BUNDLED-PACKAGES.txt'), bundles.map(([, { licences }]) => licences).join('\n\n'))
  const skill = 'docs/skills/anneal/SKILL.md'
  mkdirSync(join(to, dirname(skill)), { recursive: true })
  copyFileSync(join(root, skill), join(to, skill))
  chmodSync(join(to, javaScript(entry)), 0o755)
  copyFileSync(join(root, 'LICENSE'), join(to, 'LICENSE'))
  copyFileSync(join(root, 'docs/cli.md'), join(to, 'README.md'))
}

/** The text of each file that the first one needs, by its path, as JavaScript. */
function reachable(first) {
  const texts = new Map()
  const waiting = [first]
  for (let path = waiting.pop(); path !== undefined; path = waiting.pop()) {
    if (texts.has(path) || bundled.includes(path)) continue
    const source = replaced[path] ?? readFileSync(join(root, path), 'utf8')
    const text = path.endsWith('.ts') ? stripTypeScriptTypes(source) : source
    let rewritten = text
    for (const [start, end] of placesOfImports(path, text)) {
      const specifier = text.slice(start, end)
      if (specifier.startsWith('node:')) continue
      if (!specifier.startsWith('.'))
        throw new Error(`${path} imports the package ${specifier}, which only ${bundled.join(' and ')} may do`)
      waiting.push(join(dirname(path), specifier))
      rewritten = rewritten.slice(0, start) + javaScript(specifier) + rewritten.slice(end)
    }
    texts.set(path, rewritten)
  }
  return texts
}

/** Where the names of imported files stand, without their quotes, the last one first. */
function placesOfImports(path, text) {
  const { staticImports, staticExports, dynamicImports } = parseSync(path, text).module
  const importing = [...staticImports, ...staticExports.flatMap(({ entries }) => entries), ...dynamicImports]
  // A statement that exports several names has the same place for each.
  const places = new Map(importing.flatMap(({ moduleRequest: at }) => (at ? [[at.start + 1, at.end - 1]] : [])))
  return [...places].toSorted(([one], [next]) => next - one)
}

/** The file with the packages that it imports, as JavaScript, and the licences of these packages. */
async function bundle(path) {
  const { output } = await build({
    configFile: false,
    root,
    logLevel: 'error',
    ssr: { noExternal: true, target: 'node' },
    build: {
      ssr: path,
      write: false,
      minify: true,
      target: 'node22',
      rolldownOptions: { output: { codeSplitting: false } },
    },
  })
  const [chunk, ...others] = output
  if (others.length > 0) throw new Error(`${path} became ${output.length} files, not one`)
  const folders = new Set(chunk.moduleIds.flatMap((id) => /^.*\/node_modules\/(?:@[^/]+\/)?[^/]+/.exec(id)?.[0] ?? []))
  return {
    code: chunk.code,
    licences: [...folders]
      .toSorted((one, next) => one.localeCompare(next))
      .map(licenceOf)
      .join('\n\n'),
  }
}

function licenceOf(folder) {
  const { name, version, license } = JSON.parse(readFileSync(join(folder, 'package.json'), 'utf8'))
  const file = readdirSync(folder).find((each) => /^licen[cs]e/i.test(each))
  if (!file) throw new Error(`${folder} has no file with its licence`)
  return `${name} ${version} (${license})\n\n${readFileSync(join(folder, file), 'utf8')}`
}
