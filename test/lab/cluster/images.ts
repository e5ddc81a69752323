// Builds images from Dockerfiles with buildah, without pulling any. An image is an archive in the per-user cache, under the
// hash of its inputs, so equal inputs are built only once.
import { execFile } from 'node:child_process'
import { globSync, mkdtempSync, readFileSync, rmSync, statSync } from 'node:fs'
import { join } from 'node:path'
import { tmpdir } from 'node:os'
import { promisify } from 'node:util'
import { cacheDir, digest } from '../../../tools/paths.mjs'
import { cached, withLock } from '../../../tools/setup/cache.mjs'
import { registrySettings } from './registry-settings.ts'

export type Image = { name: string; archive: string }
export type Recipe = {
  /** A name such as `base`. In a pod's spec the image is localhost/anneal-test/base:1. */
  name: string
  dockerfile: string
  context: string
  target?: string
  /** Images by the build argument that takes them. */
  bases?: Record<string, Image>
  args?: Record<string, string>
}

const storeDir = join(cacheDir, 'cluster-buildah')

export async function buildImage(recipe: Recipe, say: (text: string) => void = () => {}): Promise<Image> {
  const hash = digest(...ingredients(recipe)).slice(0, 16)
  const name = `localhost/anneal-test/${recipe.name}:1`
  const dir = await cached('images', `cluster-image-${recipe.name}-${hash}`, async (target) => {
    const startedAt = performance.now()
    await withLock('images', `${storeDir}.lock`, () => build(recipe, name, join(target, 'image.tar')))
    const megabytes = Math.round(statSync(join(target, 'image.tar')).size / 1e6)
    say(`built ${name} (${megabytes} MB) in ${((performance.now() - startedAt) / 1000).toFixed(1)} s`)
  })
  return { name, archive: join(dir, 'image.tar') }
}

async function build({ dockerfile, context, target, bases = {}, args = {} }: Recipe, name: string, archive: string) {
  const scratch = mkdtempSync(join(tmpdir(), 'anneal-image-'))
  const buildah = ['buildah', '--root', storeDir, '--runroot', join(scratch, 'run'), '--storage-driver', 'overlay']
  const given = { ...Object.fromEntries(Object.entries(bases).map(([key, base]) => [key, base.name])), ...args }
  const steps = [
    ...Object.values(bases).map((base) => [...buildah, 'pull', '--quiet', `docker-archive:${base.archive}`]),
    [
      ...[...buildah, 'build', '--isolation', 'chroot', '--network', 'host', '--pull-never', '--layers'],
      ...['--format', 'docker', ...(target ? ['--target', target] : []), ...registrySettings(scratch)],
      ...Object.entries(given).flatMap(([key, value]) => ['--build-arg', `${key}=${value}`]),
      ...['--tag', name, '--file', dockerfile, context],
    ],
    [...buildah, 'push', '--quiet', name, `docker-archive:${archive}:${name}`],
  ]
  try {
    // The build has a mount namespace of its own, so a failed step leaves no mount behind.
    const script = steps.map((argv) => argv.map(quoted).join(' ')).join(' && ')
    await promisify(execFile)('unshare', ['--mount', '--propagation', 'private', 'sh', '-c', script], {
      maxBuffer: 64 << 20,
    })
  } catch (error) {
    const { stdout, stderr } = error as { stdout: string; stderr: string }
    throw new Error(`${dockerfile} does not build:\n${`${stdout}\n${stderr}`.trim().split('\n').slice(-30).join('\n')}`)
  } finally {
    rmSync(scratch, { recursive: true, force: true })
  }
}

/** The inputs of an image: its Dockerfile, the files of its COPY and ADD lines, and the images that its arguments name. */
function ingredients({ dockerfile, context, target = '', bases = {}, args = {} }: Recipe): string[] {
  const text = readFileSync(dockerfile, 'utf8')
  const taken = [...text.matchAll(/^(?:COPY|ADD) (?!--from)(.+)$/gm)].flatMap(([, words = '']) =>
    words.split(/\s+/).slice(0, -1),
  )
  const paths = [...new Set(taken)].flatMap((source) => globSync(source, { cwd: context }))
  const files = paths.flatMap((path) => filesOf(join(context, path))).toSorted()
  return [
    ...[text, target, JSON.stringify(args), JSON.stringify(Object.values(bases).map(({ archive }) => archive))],
    ...files.flatMap((path) => [path.slice(context.length), digest(readFileSync(path))]),
  ]
}

function filesOf(path: string): string[] {
  if (statSync(path).isFile()) return [path]
  const all = globSync('**/*', { cwd: path, withFileTypes: true, exclude: (entry) => entry.name === '__pycache__' })
  return all.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name))
}

function quoted(word: string) {
  return `'${word.replaceAll("'", `'\\''`)}'`
}
