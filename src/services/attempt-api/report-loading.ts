// A program fetches or converts its base model before it can begin: people who wait read how far it is.
import { loadingModel } from '../../domain/pending-reason.ts'
import type { PodCtx } from '../context.ts'
import { fencedWrite } from './fenced-write.ts'

/** @throws ServiceError attempt_fenced */
export async function reportAttemptLoading({ pod, input: { message } }: { pod: PodCtx; input: { message: string } }) {
  await fencedWrite(pod, async (tx, { jobId, number, generation }) => {
    // The attempt is alive: it has not stalled.
    await tx.attempts.update({ jobId, number }, {})
    await tx.trainingJobs.explain(jobId, generation, 'LOADING DATA', loadingModel, message)
  })
}

export async function reportServerLoading({ pod, input: { message } }: { pod: PodCtx; input: { message: string } }) {
  await pod.deps.database.modelServers.noteLoading(pod.tokenHash, message)
}
