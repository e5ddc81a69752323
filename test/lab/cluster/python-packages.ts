// Gives pods this machine's Python environment as a read-only volume. The volume is a claim, because the restricted standard
// refuses pods that name a folder of their node.
import { toolPath } from '../../../tools/paths.mjs'
import type { ClusterApi } from './api.ts'
import { output } from './programs.ts'

const claimName = 'python-packages'

export async function providePythonPackages(api: ClusterApi, namespace: string) {
  const script = 'import sysconfig; print(sysconfig.get_path("purelib"))'
  const path = await output(toolPath('python'), ['-c', script])
  const name = `${claimName}-${namespace}`
  const volume = { accessModes: ['ReadOnlyMany'], storageClassName: '' }
  await api.apply('/api/v1/persistentvolumes', {
    apiVersion: 'v1',
    kind: 'PersistentVolume',
    metadata: { name },
    spec: {
      ...volume,
      capacity: { storage: '10Gi' },
      hostPath: { path, type: 'Directory' },
      claimRef: { namespace, name: claimName },
    },
  })
  await api.apply(`/api/v1/namespaces/${namespace}/persistentvolumeclaims`, {
    apiVersion: 'v1',
    kind: 'PersistentVolumeClaim',
    metadata: { name: claimName, namespace },
    spec: { ...volume, volumeName: name, resources: { requests: { storage: '10Gi' } } },
  })
}
