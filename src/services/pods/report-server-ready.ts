import { ServiceError } from '../../domain/service-error.ts'
import type { PodCtx } from '../context.ts'

/** @throws ServiceError server_fenced when another launch has taken its place or it was told to stop */
export async function reportServerReady({
  pod,
  input: { endpoint },
}: {
  pod: PodCtx
  input: { endpoint: string }
}): Promise<void> {
  const accepted = await pod.deps.database.modelServers.reportReady(pod.tokenHash, endpoint)
  if (!accepted) throw new ServiceError('server_fenced', 'This model server has been released or superseded.')
}
