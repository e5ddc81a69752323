// A browser for tests: the machine's own Chromium, else one from npm in the per-user cache, with the libraries that it needs.
import { existsSync } from 'node:fs'
import { delimiter, join } from 'node:path'
import { cacheDir, digest, nodeBinary, root } from '../paths.mjs'
import { cached, writeAtomically } from './cache.mjs'
import { clientPackages } from './client-env.mjs'
import { runCommand } from './command.mjs'
import { SetupError } from './report.mjs'

const names = ['chromium', 'chromium-browser', 'google-chrome']

/** Unpacks the package's archives into the folder for temporary files, which is the only place that it knows. */
const unpack = `
  const { inflate } = await import(process.argv[1] + '/build/index.js')
  for (const name of ['chromium.br', 'al2023.tar.br', 'fonts.tar.br', 'swiftshader.tar.br'])
    await inflate(process.argv[1] + '/bin/' + name)`

/** @returns {Promise<{path: string, env: Record<string, string>}>} */
export async function findChromium() {
  const folders = (process.env.PATH ?? '').split(delimiter)
  const own =
    process.env.ANNEAL_CHROMIUM_BIN ||
    names.flatMap((name) => folders.map((folder) => join(folder, name))).find(existsSync)
  if (own) return { path: own, env: {} }
  if (process.platform !== 'linux' || process.arch !== 'x64')
    throw new SetupError(
      'The tests of the console need Chromium. Install it (Debian: apt install chromium), or set ANNEAL_CHROMIUM_BIN.',
    )
  const packages = await clientPackages(join(root, 'tools/chromium'))
  const dir = await cached('chromium', `chromium-${digest(packages).slice(0, 16)}`, (target) => {
    const folder = join(packages, 'node_modules/@sparticuz/chromium')
    return runCommand('chromium', [nodeBinary, '--input-type=module', '-e', unpack, folder], {
      doing: 'unpacking Chromium',
      env: { ...process.env, TMPDIR: target },
      needs: { space: '400 MB', dir: cacheDir },
      hint: 'Or install Chromium (Debian: apt install chromium).',
    })
  })
  const fonts = join(dir, 'anneal-fonts.conf')
  writeAtomically(fonts, fontsConfig(dir))
  return { path: join(dir, 'chromium'), env: { LD_LIBRARY_PATH: join(dir, 'al2023/lib'), FONTCONFIG_FILE: fonts } }
}

/** The package's own file looks for fonts in /tmp only, and without a font all text is invisible. */
const fontsConfig = (dir) => `<?xml version="1.0"?>
<!DOCTYPE fontconfig SYSTEM "fonts.dtd">
<fontconfig>
  <dir>${join(dir, 'fonts')}</dir>
  <dir>/usr/share/fonts</dir>
  <cachedir>${join(dir, 'fonts-cache')}</cachedir>
</fontconfig>
`
