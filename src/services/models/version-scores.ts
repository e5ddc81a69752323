import { setTimeout as sleep } from 'node:timers/promises'
import { ServiceError } from '../../domain/service-error.ts'
import type { ModelVersion } from '../../domain/training-job.ts'
import { readEvaluation, type ReadDependencies } from '../training-jobs/read-evaluation.ts'

type ScoringCtx = { deps: ReadDependencies; accountId: string }

/** For all versions of a request. Scoring continues after it, so a later request finds the scores. */
const patienceMs = 1000

/** Computes the scores that are not kept yet, in the order of the versions, as far as there is time. */
export async function withScores(
  { deps, accountId }: ScoringCtx,
  versions: ModelVersion[],
  { atMostMs = patienceMs }: { atMostMs?: number } = {},
): Promise<ModelVersion[]> {
  const late = sleep(atMostMs, 'late' as const, { ref: false })
  const computed = new Map<string, ModelVersion['scores']>()
  for (const { modelName, artifactId, graders } of versions.filter(isUnscored)) {
    const read = readEvaluation(deps, { accountId, modelName, artifactId, graders }).catch(nullIfRefused)
    const evaluation = await Promise.race([read, late])
    if (evaluation === 'late') break
    computed.set(modelName, evaluation?.scored?.summary ?? null)
  }
  return versions.map((version) => ({ ...version, scores: version.scores ?? computed.get(version.modelName) ?? null }))
}

const isUnscored = ({ evaluatedRows, scores }: ModelVersion) => evaluatedRows > 0 && scores === null

/** The embedding model may be away. */
function nullIfRefused(error: unknown): null {
  if (error instanceof ServiceError) return null
  throw error
}
