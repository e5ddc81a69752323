// Grading under way in this process. It goes on after the call that began it: the trainer asks again and finds the grades stored.
import { setTimeout as sleep } from 'node:timers/promises'
import type { Reward } from '../../domain/item-grader.ts'
import { textParts, type EvalItem } from '../../domain/eval-run.ts'
import { sentenceOf } from '../../domain/model-server.ts'
import type { Grade, RolloutSplit, SamplePlace } from '../../domain/rollouts.ts'
import { ServiceError } from '../../domain/service-error.ts'
import { gradeSamples } from '../../grading/grade-samples.ts'
import type { Grading } from '../../grading/grading-threads.ts'
import type { Scoring } from '../../grading/score.ts'
import type { Log } from '../../log.ts'
import { createTurns } from '../../turns.ts'
import type { ModelCtx } from '../context.ts'
import type { Limits } from '../limits/limits.ts'
import { createEmbeddings } from '../embeddings/create.ts'
import { resolveModel } from '../models/resolve.ts'
import { withinJudgeTokens } from './judge-tokens.ts'
import { wouldFailAgain } from '../training-jobs/score-evaluation.ts'

/** Samples of one account that may be at its graders at once, in one process. */
export const maxSamplesAtGraders = 1024
/** Samples that are graded, and stored, together. */
const pieceSize = 16
/** Programs take up to seconds for a sample. */
const pieceOfPrograms = 2
const turnsOfAccount = 4
/** For an answer of a model that judges and is ready. */
const judgeLimitMs = 60_000
const maxTries = 5

export type SampleToGrade = SamplePlace & {
  text: string
  toolCalls: unknown[] | null
  finishReason: string
  tokens: number
  item: Record<string, unknown>
}

export type StepToGrade = {
  ctx: ModelCtx & { deps: { grading: Grading; limits: Pick<Limits, 'judgeTokens'>; log: Pick<Log, 'error'> } }
  stepOfJob: { jobId: number; split: RolloutSplit; step: number }
  baseModel: string
  reward: Reward
  ask: NonNullable<Scoring['ask']>
}

export function createGradingWork() {
  const turns = createTurns({ atMost: Number.POSITIVE_INFINITY, atMostOfAccount: turnsOfAccount })
  /** By sample. Resolves with what the sample waits for; null once its grade is stored. */
  const underWay = new Map<string, Promise<string | null>>()
  const samplesOf = new Map<string, number>()

  /** Begins to grade the samples that nobody grades, as many as the account may have at once. */
  function begin(step: StepToGrade, samples: readonly SampleToGrade[]) {
    const { accountId, deps } = step.ctx
    const room = maxSamplesAtGraders - (samplesOf.get(accountId) ?? 0)
    const fresh = samples.filter((sample) => !underWay.has(keyOf(step, sample))).slice(0, Math.max(0, room))
    samplesOf.set(accountId, maxSamplesAtGraders - room + fresh.length)
    const hasProgram = Object.values(step.reward.graders).some(({ type }) => type === 'python')
    const size = hasProgram ? pieceOfPrograms : pieceSize
    for (let start = 0; start < fresh.length; start += size) {
      const piece = fresh.slice(start, start + size)
      const graded = inTurn(step, piece).finally(() => {
        for (const sample of piece) underWay.delete(keyOf(step, sample))
        const left = (samplesOf.get(accountId) ?? 0) - piece.length
        if (left > 0) samplesOf.set(accountId, left)
        else samplesOf.delete(accountId)
      })
      // The call that began it may have been answered.
      graded.catch((error: unknown) => deps.log.error({ err: error, ...step.stepOfJob }, 'failed to grade samples'))
      for (const sample of piece) underWay.set(keyOf(step, sample), graded)
    }
  }

  async function inTurn(step: StepToGrade, piece: readonly SampleToGrade[]): Promise<string | null> {
    const { accountId, deps } = step.ctx
    await turns.take(accountId)
    try {
      const grades = await gradesOf(step, piece)
      const graded = piece.map(({ row, index }, at) => ({ row, index, ...(grades[at] as Grade) }))
      countTokens(step, piece, await deps.database.grades.add(step.stepOfJob, graded))
      return null
    } catch (error) {
      if (error instanceof ServiceError && mayPass(error)) return error.message
      throw error
    } finally {
      turns.giveBack(accountId)
    }
  }

  return {
    samplesOf: (accountId: string) => samplesOf.get(accountId) ?? 0,

    /**
     * Waits for the grades, which are stored, or for as long as told.
     * @returns what the samples without a grade wait for; null without any
     * @throws errors that no wait mends
     */
    async grade(step: StepToGrade, samples: readonly SampleToGrade[], atMostMs: number): Promise<string | null> {
      begin(step, samples)
      const graded = samples.map(
        (sample) => underWay.get(keyOf(step, sample)) ?? Promise.resolve(`The account has ${fullSentence}`),
      )
      const late = sleep(atMostMs, 'late' as const, { ref: false })
      const found = await Promise.race([late, Promise.all(graded)])
      if (found === 'late') return (await awayJudge(step)) ?? 'The graders have not answered yet.'
      return found.find((sentence) => sentence !== null) ?? null
    },
  }
}

/** Each sampled token counts once, under the key of the job. Nearly: where two processes grade at once, samples count alike. */
function countTokens({ ctx, baseModel: model }: StepToGrade, piece: readonly SampleToGrade[], added: number) {
  const tokens = piece.reduce((sum, sample) => sum + sample.tokens, 0)
  const { accountId, apiKeyId, deps } = ctx
  deps.usage.add({ accountId, apiKeyId, model }, { completionTokens: Math.round((tokens * added) / piece.length) })
}

const fullSentence = `${maxSamplesAtGraders} samples at its graders, the most at once.`

const keyOf = ({ stepOfJob: { jobId, split, step } }: StepToGrade, { row, index }: SamplePlace) =>
  `${jobId} ${split} ${step} ${row} ${index}`

const mayPass = ({ code }: ServiceError) => code === 'unavailable' || code === 'quota_exceeded'

/** Whether a repeat would fail in the same way: then the samples have no score. */
const isLasting = (error: unknown) => wouldFailAgain(error) || (error instanceof ServiceError && !mayPass(error))

/** @throws ServiceError unavailable while a model that judges is away, and other errors */
async function gradesOf(step: StepToGrade, samples: readonly SampleToGrade[]): Promise<Grade[]> {
  const { ctx, reward, ask } = step
  const { accountId, deps } = ctx
  const embed: Scoring['embed'] = (texts, signal) =>
    createEmbeddings({ ctx, input: { modelName: null, texts }, signal })
  const scoring = { accountId, grading: deps.grading, ask: withinJudgeTokens({ ...deps, accountId }, ask), embed }
  for (let tries = 1; ; tries++) {
    const signal = AbortSignal.timeout(judgeLimitMs)
    try {
      return await gradeSamples(scoring, reward, samples.map(itemOf), signal)
    } catch (error) {
      if (isLasting(error)) return unscored(step, samples, (error as Error).message)
      if (!signal.aborted) throw error
      const away = await awayJudge(step)
      if (away !== null) throw new ServiceError('unavailable', away)
      if (tries === maxTries)
        return unscored(step, samples, `No score came within ${judgeLimitMs / 1000} seconds, ${maxTries} times.`)
    }
  }
}

const itemOf = ({ item, text, toolCalls, finishReason }: SampleToGrade): EvalItem => ({
  item,
  sample: { ...textParts(text), ...(toolCalls && { output_tools: toolCalls }), finish_reason: finishReason },
})

function unscored({ reward }: StepToGrade, samples: readonly SampleToGrade[], message: string): Grade[] {
  const names = Object.keys(reward.graders)
  const grades = Object.fromEntries(names.map((name) => [name, null]))
  return samples.map(() => ({ reward: null, grades, error: { grader: names[0] ?? '', kind: 'other_error', message } }))
}

/** A sentence about a model that judges and is not served; null when all are. */
async function awayJudge({ ctx, reward }: StepToGrade): Promise<string | null> {
  const { modelServers } = ctx.deps.database
  for (const grader of Object.values(reward.graders)) {
    if (grader.type !== 'judge') continue
    const found = await resolveModel(ctx, grader.model).catch(nullIfRefused)
    if (!found) continue
    const { baseModel } = found
    const server = await modelServers.findServed(baseModel.name)
    if (server?.state === 'ready') continue
    const reason = sentenceOf(server)
    return `The model ${baseModel.name}, which judges the answers, is not ready${reason ? `: ${reason}` : '.'}`
  }
  return null
}

/** A judge that was deleted meanwhile refuses its samples. */
function nullIfRefused(error: unknown): null {
  if (error instanceof ServiceError) return null
  throw error
}
