// The base images of all others, made from this machine's distribution and npm.
import { chmodSync, copyFileSync, cpSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { cached } from '../../../tools/setup/cache.mjs'
import { buildImage, type Image, type Recipe } from './images.ts'
import { output } from './programs.ts'

const npmVersion = '11.13.0'
export const dockerfilesDir = join(import.meta.dirname, 'images')

/** Images that the cluster itself needs, built in a moment: localhost/anneal-test/pause:1 and .../shell:1. */
export async function basicImages(bin: string): Promise<Image[]> {
  return [
    await fromFolder({ name: 'pause' }, (dir) => copyFileSync(join(bin, 'pause'), join(dir, 'pause'))),
    await fromFolder({ name: 'shell' }, (dir) => {
      copyFileSync('/bin/busybox', join(dir, 'busybox'))
      writeFileSync(join(dir, 'passwd'), 'root:x:0:0:root:/root:/bin/sh\n')
    }),
  ]
}

export async function debianImage(say: (text: string) => void): Promise<Image> {
  const suite = /^VERSION_CODENAME=(\w+)$/m.exec(readFileSync('/etc/os-release', 'utf8'))?.[1] ?? 'bookworm'
  const dir = await cached('images', `cluster-debian-${suite}`, async (target) => {
    say(`making a ${suite} root file system (about a minute)`)
    const files = join(target, 'files')
    await output('debootstrap', ['--variant=minbase', '--include=ca-certificates', suite, files])
    for (const path of ['var/cache/apt', 'var/lib/apt/lists', 'usr/share/doc', 'usr/share/man', 'usr/share/locale'])
      rmSync(join(files, path), { recursive: true, force: true })
    mkdirSync(join(files, 'var/lib/apt/lists/partial'), { recursive: true })
    mkdirSync(join(files, 'var/cache/apt/archives/partial'), { recursive: true })
    // apt keeps no packages, as in the official images.
    const keepNothing =
      'DPkg::Post-Invoke { "rm -f /var/cache/apt/archives/*.deb || true"; };\nDir::Cache::pkgcache "";\n'
    writeFileSync(join(files, 'etc/apt/apt.conf.d/docker-clean'), `${keepNothing}Dir::Cache::srcpkgcache "";\n`)
    await output('tar', ['--numeric-owner', '--exclude=./dev/*', '-C', files, '-cf', join(target, 'debian.tar'), '.'])
    rmSync(files, { recursive: true })
  })
  return buildImage({ name: 'debian', dockerfile: dockerfile('debian'), context: dir }, say)
}

export async function nodeImage(debian: Image, say: (text: string) => void): Promise<Image> {
  const npm = await cached('images', `cluster-npm-${npmVersion}`, async (target) => {
    await output('npm', ['pack', '--silent', '--pack-destination', target, `npm@${npmVersion}`])
    await output('tar', ['-C', target, '-xf', join(target, `npm-${npmVersion}.tgz`)])
  })
  return fromFolder(
    { name: 'node', bases: { BASE: debian } },
    (dir) => {
      copyFileSync(join(root, `node_modules/node-linux-${process.arch}/bin/node`), join(dir, 'node'))
      chmodSync(join(dir, 'node'), 0o755)
      cpSync(join(npm, 'package'), join(dir, 'npm'), { recursive: true })
    },
    say,
  )
}

export function pythonImage(debian: Image, say: (text: string) => void): Promise<Image> {
  return fromFolder({ name: 'python', bases: { BASE: debian } }, () => {}, say)
}

/** Builds with a context that contains only the files of the Dockerfile. */
export async function fromFolder(
  recipe: Pick<Recipe, 'name' | 'bases'>,
  fill: (dir: string) => void,
  say: (text: string) => void = () => {},
): Promise<Image> {
  const context = mkdtempSync(join(tmpdir(), 'anneal-image-'))
  try {
    fill(context)
    return await buildImage({ ...recipe, dockerfile: dockerfile(recipe.name), context }, say)
  } finally {
    rmSync(context, { recursive: true, force: true })
  }
}

function dockerfile(name: string) {
  return join(dockerfilesDir, `${name}.Dockerfile`)
}
