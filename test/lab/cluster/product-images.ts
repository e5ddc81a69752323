// The project's own images from its own Dockerfiles, on local stand-ins for the official bases, without the gigabytes of
// Python packages: pods take those from a volume with this machine's own (python-packages.ts).
import { join } from 'node:path'
import { root } from '../../../tools/paths.mjs'
import { debianImage, nodeImage, pythonImage } from './base-images.ts'
import { buildImage, type Image } from './images.ts'

/** localhost/anneal-test/anneal:1, .../runtime:1 and .../graders:1 */
export async function productImages(say: (text: string) => void): Promise<Image[]> {
  const debian = await debianImage(say)
  const service = async () => {
    const bases = { NODE_IMAGE: await nodeImage(debian, say) }
    return buildImage({ name: 'anneal', dockerfile: join(root, 'Dockerfile'), context: root, bases }, say)
  }
  const code = async (name: string, dockerfile: string) => {
    const bases = { PYTHON_IMAGE: await pythonImage(debian, say) }
    return buildImage({ name, dockerfile: join(root, dockerfile), context: root, target: 'code', bases }, say)
  }
  return [
    await service(),
    await code('runtime', 'runtime/Dockerfile'),
    await code('graders', 'runtime/graders/Dockerfile'),
  ]
}
