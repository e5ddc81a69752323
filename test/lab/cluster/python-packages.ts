// Gives pods this machine's Python environment as a read-only volume. The volume is a claim, because the restricted standard
// refuses pods that name a folder of their node.
import { toolPath } from '../../../tools/paths.mjs'
import type { ClusterApi } from './api.ts'
import { output } from './programs.ts'

const claimName = 'python-packages'

export async function providePythonPackages(api: ClusterApi, namespace: string) {
  const [volume, claim] = await pythonPackages(namespace)
  await api.apply('/api/v1/persistentvolumes', volume)
  await api.apply(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, claim)
}

/** The volume and the claim. */
export async function pythonPackages(namespace: string) {
  const script = 'import sysconfig; print(sysconfig.get_path("purelib"))'
  const path = await output(toolPath('python'), ['-c', script])
  const name = `${claimName}-${namespace}`
  const shared = { accessModes: ['ReadOnlyMany'], storageClassName: '' }
  const volume = {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      ...shared,
      capacity: { storage: '10Gi' },
      hostPath: { path, type: 'Directory' },
      claimRef: { namespace, name: claimName },
    },
  }
  const claim = {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: claimName, namespace },
    spec: { ...shared, volumeName: name, resources: { requests: { storage: '10Gi' } } },
  }
  return [volume, claim] as const
}
