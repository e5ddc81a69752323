// Has model servers sample answers from the policy of a reinforcement job.
import { sentenceOf } from '../../domain/model-server.ts'
import { policyName, type SamplePlace } from '../../domain/rollouts.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { SampledAnswer } from '../../inference/sample.ts'
import type { PodCtx } from '../context.ts'
import { fileLinks } from './claim.ts'
import { fencedWrite } from './fenced-write.ts'
import { createSamplingWork, maxAnswersUnderWay, type PolicyToSample, type WantedAnswer } from './sampling-work.ts'

/** An answer of the api that is not complete by then lists what waits. */
const waitMs = 20_000

type SampleInput = { policyStep: number; answers: readonly WantedAnswer[] }
type Sampled = { sampled: (SamplePlace & SampledAnswer)[]; waiting: SamplePlace[]; waitingFor: string | null }

const work = createSamplingWork()

/** @throws ServiceError attempt_fenced; conflict for a policy that is not committed, and where a server refuses to sample */
export async function sampleAnswers({ pod, input }: { pod: PodCtx; input: SampleInput }): Promise<Sampled> {
  const { policy, baseModel } = await open(pod, input.policyStep)
  const { sampled, failure, hadRoom } = await work.sample(policy, input.answers, waitMs)
  const isThere = ({ row, index }: SamplePlace) => sampled.some((each) => each.row === row && each.index === index)
  const waiting = input.answers.filter((each) => !isThere(each)).map(({ row, index }) => ({ row, index }))
  if (failure !== null && !mayPass(failure)) throw failure
  if (waiting.length === 0) return { sampled, waiting, waitingFor: null }
  const full = hadRoom ? null : `The account has ${maxAnswersUnderWay} answers at model servers, the most at once.`
  const waitingFor = (failure as ServiceError | null)?.message ?? full ?? (await awayServer(pod, baseModel))
  return { sampled, waiting, waitingFor }
}

const mayPass = (error: unknown) =>
  error instanceof ServiceError && (error.code === 'unavailable' || error.code === 'quota_exceeded')

/** Finds the policy and how its job samples. The attempt counts as heard. */
async function open(pod: PodCtx, policyStep: number): Promise<{ policy: PolicyToSample; baseModel: string }> {
  const { accountId, baseModel, hyperparameters, grammar, files, jobId } = await fencedWrite(
    pod,
    async (tx, attempt) => {
      const { spec, ...job } = await tx.trainingJobs.get(attempt.jobId)
      const { hyperparameters = {}, task } = spec.method ?? {}
      if (hyperparameters['rollouts'] !== 'server')
        throw new ServiceError('conflict', 'Model servers sample nothing for this job: its rollouts are not "server".')
      const policy = await tx.artifacts.policyOf(attempt.jobId, policyStep)
      if (!policy)
        throw new ServiceError('conflict', `Commit the policy of step ${policyStep} before its answers are sampled.`)
      await tx.attempts.update({ jobId: attempt.jobId, number: attempt.number }, {})
      return { ...job, hyperparameters, grammar: task?.grammar ?? null, files: policy.files, jobId: attempt.jobId }
    },
  )
  const entry = pod.deps.catalogue.find(baseModel)
  if (!entry) throw new ServiceError('conflict', `The model ${baseModel} is not served any more.`)
  const name = policyName(jobId, policyStep)
  const adapter = {
    name,
    files: async () => (await fileLinks(pod, files)).map(({ size: sizeBytes, ...file }) => ({ ...file, sizeBytes })),
  }
  const sampling = {
    temperature: Number(hyperparameters['temperature']),
    topP: Number(hyperparameters['top_p']),
    grammar,
  }
  const draw: PolicyToSample['draw'] = (wanted) =>
    pod.deps.inference.sample({ baseModel: entry, adapter, accountId, ...sampling, ...wanted })
  return { policy: { policy: name, accountId, draw }, baseModel }
}

/** A sentence about the model server while it is not ready. */
async function awayServer({ deps }: PodCtx, baseModel: string): Promise<string | null> {
  const server = await deps.database.modelServers.findServed(baseModel)
  if (server?.state === 'ready') return null
  const reason = sentenceOf(server)
  return `The model ${baseModel}, which samples the answers, is not ready${reason ? `: ${reason}` : '.'}`
}
