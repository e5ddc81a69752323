import { Prisma } from '../../generated/prisma/client.ts'
import type { RewardTask } from '../domain/reward-task.ts'
import { rolloutFileNames, type StepRollouts } from '../domain/rollouts.ts'
import type { Artifact, ArtifactFile, ArtifactKind, EvaluationRow } from '../domain/training-job.ts'
import type { Connection } from './connection.ts'

/** As the index of rollouts has it. */
const isRollouts = `a.kind = 'rollouts' and a.committed_at is not null`

export const createArtifactRepository = (db: Connection) => ({
  async create(artifact: Omit<Artifact, 'createdAt' | 'committedAt' | 'verifiedAt'>) {
    await db.artifact.create({ data: artifact })
  },

  async find(jobId: number, id: string): Promise<Artifact | null> {
    const row = await db.artifact.findFirst({ where: { id, jobId } })
    return row && plain(row)
  },

  /** Returns the ids that exist. */
  async known(ids: string[]): Promise<Set<string>> {
    const rows = await db.artifact.findMany({ where: { id: { in: [...new Set(ids)] } }, select: { id: true } })
    return new Set(rows.map(({ id }) => id))
  },

  /** @returns false when the artifact was committed before */
  async commit(id: string): Promise<boolean> {
    const count = await db.$executeRaw`
      update artifacts set committed_at = now() where id = ${id}::uuid and committed_at is null`
    return count === 1
  },

  async markVerified(id: string) {
    await db.artifact.update({ where: { id }, data: { verifiedAt: new Date() } })
  },

  async markCorrupt(id: string) {
    await db.artifact.update({ where: { id }, data: { corruptAt: new Date() } })
  },

  /** Lists artifacts that are committed and not known to be corrupt, newest first by step, then by time. */
  async listUsable(jobId: number, kind: ArtifactKind, limit = 10): Promise<Artifact[]> {
    const rows = await db.artifact.findMany({
      where: { jobId, kind, committedAt: { not: null }, corruptAt: null },
      orderBy: [{ step: 'desc' }, { committedAt: 'desc' }],
      take: limit,
    })
    return rows.map(plain)
  },

  /** Finds the newest usable checkpoint of this step. */
  async checkpointOf(jobId: number, step: number): Promise<Artifact | null> {
    const row = await db.artifact.findFirst({
      where: { jobId, kind: 'checkpoint', step, committedAt: { not: null }, corruptAt: null },
      orderBy: { committedAt: 'desc' },
    })
    return row && plain(row)
  },

  /** Whether this file of rollouts is committed. */
  async hasRollouts({ jobId, step, name }: { jobId: number; step: number; name: string }): Promise<boolean> {
    const found = await db.$queryRaw<unknown[]>`
      select from artifacts a
      where ${Prisma.raw(isRollouts)} and a.job_id = ${jobId} and a.step = ${step} and a.files->0->>'name' = ${name}`
    return found.length > 0
  },

  /** Finds the policy of the job after so many updates. */
  async policyOf(jobId: number, step: number): Promise<Artifact | null> {
    const row = await db.artifact.findFirst({
      where: { jobId, kind: 'policy', step, committedAt: { not: null }, corruptAt: null },
    })
    return row && plain(row)
  },

  /** Lists committed rollouts from this step on by step, in the order of their making. */
  async listRollouts(jobId: number, { from, to }: { from: number; to: number }): Promise<StepRollouts[]> {
    const rows = await db.$queryRaw<StepRollouts[]>`
      select a.step, a.files from artifacts a
      where ${Prisma.raw(isRollouts)} and a.corrupt_at is null and a.job_id = ${jobId}
        and a.step between ${from} and ${to}
      order by a.step, array_position(${rolloutFileNames}, a.files->0->>'name')`
    const byStep = new Map<number, StepRollouts>()
    for (const { step, files } of rows) {
      const known = byStep.get(step)
      if (known) known.files.push(...files)
      else byStep.set(step, { step, files })
    }
    return [...byStep.values()]
  },

  /** The newest step with rollouts; null without any. */
  async newestRolloutStep(jobId: number, name: string): Promise<number | null> {
    const [newest] = await db.$queryRaw<{ step: number | null }[]>`
      select max(a.step) as step from artifacts a
      where ${Prisma.raw(isRollouts)} and a.corrupt_at is null and a.job_id = ${jobId} and a.files->0->>'name' = ${name}`
    return newest?.step ?? null
  },

  /** Finds the job's saved model, of any attempt or generation. */
  async newestModel(jobId: number): Promise<Artifact | null> {
    const [newest] = await this.listUsable(jobId, 'model', 1)
    return newest ?? null
  },

  /** Replaces the artifact's earlier evaluation. */
  async replaceEvaluation(artifactId: string, rows: readonly EvaluationRow[]) {
    await db.evaluation.deleteMany({ where: { artifactId } })
    const data = rows.map(({ item, samples, scores: _scores, ...row }, index) => ({
      ...{ ...row, artifactId, index },
      ...(item && { item: item as Prisma.InputJsonValue }),
      ...(samples && { samples: samples as Prisma.InputJsonValue }),
    }))
    await db.evaluation.createMany({ data })
  },

  /** Keeps the scores of the first rows. */
  async keepEvaluationScores(artifactId: string, scores: readonly NonNullable<EvaluationRow['scores']>[]) {
    await db.$executeRaw`
      update evaluations set scores = kept.scores
      from jsonb_array_elements(${JSON.stringify(scores)}::jsonb) with ordinality as kept(scores, place)
      where artifact_id = ${artifactId}::uuid and index = kept.place - 1`
  },

  async listEvaluation(artifactId: string): Promise<EvaluationRow[]> {
    const rows = await db.evaluation.findMany({ where: { artifactId }, orderBy: { index: 'asc' } })
    return rows.map(
      ({ artifactId: _artifactId, index: _index, prefersChosen, item, samples, scores, ...row }) =>
        ({
          ...row,
          ...(prefersChosen !== null && { prefersChosen }),
          ...(item !== null && { item }),
          ...(samples !== null && { samples }),
          ...(scores !== null && { scores }),
        }) as EvaluationRow,
    )
  },

  /** What rewarded the answers of the job whose artifact this is; null for other methods. */
  async rewardTask(artifactId: string): Promise<RewardTask | null> {
    const [found] = await db.$queryRaw<{ task: RewardTask | null }[]>`
      select j.spec->'method'->'task' as task from artifacts a join training_jobs j on j.id = a.job_id
      where a.id = ${artifactId}::uuid`
    return found?.task ?? null
  },

  async isEvaluated(artifactId: string): Promise<boolean> {
    return (await db.evaluation.findFirst({ where: { artifactId }, select: { index: true } })) !== null
  },
})

function plain({ corruptAt: _corruptAt, ...row }: Prisma.ArtifactGetPayload<object>): Artifact {
  return { ...row, kind: row.kind as ArtifactKind, files: row.files as unknown as ArtifactFile[] }
}
