import { loadYaml } from '@kubernetes/client-node'
import type { Compute } from '../compute.ts'
import { connectToCluster } from './api/connection.ts'
import { createKubernetesCompute } from './kubernetes-compute.ts'
import type { KubernetesComputeOptions } from './kubernetes-compute.ts'
import { parsePodTemplates } from './pods/pod-template-file.ts'

/** @param templatesText YAML or JSON. @throws Error when it is not valid, or no cluster is configured */
export async function openKubernetesCompute({
  templatesText,
  ...options
}: Omit<KubernetesComputeOptions, 'connection' | 'templates'> & { templatesText: string }): Promise<Compute> {
  const templates = parsePodTemplates(loadYaml(templatesText))
  return createKubernetesCompute({ ...options, templates, connection: connectToCluster() })
}
