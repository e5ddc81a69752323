// Loaded only where runs are on Kubernetes: client-node takes half a second to load.
import { loadYaml } from '@kubernetes/client-node'
import { connectToCluster } from './api/connection.ts'
import { createCluster } from './cluster.ts'
import type { Cluster, ClusterOptions } from './cluster.ts'
import { parsePodTemplates } from './pods/pod-template-file.ts'

export { createKubernetesGraderPods } from './python-graders/kubernetes-grader-pods.ts'
export { createKubernetesModelServers } from './model-servers/kubernetes-model-servers.ts'
export { createKubernetesTrainers } from './trainers/kubernetes-trainers.ts'

/** @param templatesText YAML or JSON. @throws Error when it is not valid, or no cluster is configured */
export function openCluster({
  templatesText,
  ...options
}: Omit<ClusterOptions, 'connection' | 'templates'> & { templatesText: string }): Cluster {
  return createCluster({
    ...options,
    templates: parsePodTemplates(loadYaml(templatesText)),
    connection: connectToCluster(),
  })
}
