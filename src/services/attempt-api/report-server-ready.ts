import { ServiceError } from '../../domain/service-error.ts'
import type { ReadyReport } from '../../repositories/model-servers.ts'
import type { PodCtx } from '../context.ts'

/** @throws ServiceError server_fenced when the launch was replaced or released */
export async function reportServerReady({ pod, input }: { pod: PodCtx; input: ReadyReport }): Promise<void> {
  if (!(await pod.deps.database.modelServers.reportReady(pod.tokenHash, input))) throw fenced()
}

/** Removes a replica that is ending from those that get requests. @throws ServiceError server_fenced */
export async function reportReplicaLeaving({
  pod,
  input: { instance },
}: {
  pod: PodCtx
  input: { instance: string }
}): Promise<void> {
  if (!(await pod.deps.database.modelServers.removeReplica(pod.tokenHash, instance))) throw fenced()
}

const fenced = () =>
  new ServiceError('server_fenced', 'This model server was released, or a newer launch has replaced it.')
