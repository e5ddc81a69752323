// Answers that model servers draw for trainings of this process, until their trainer has fetched them. Drawing goes on after
// the call that began it. Nothing is stored: an answer that is lost with the process is drawn again, from the same stream.
import { setTimeout as sleep } from 'node:timers/promises'
import type { SamplePlace } from '../../domain/rollouts.ts'
import { ServiceError } from '../../domain/service-error.ts'
import type { AnswerToSample, SampledAnswer, SampleRequest } from '../../inference/sample.ts'

/** Answers of one account that may be drawn, or wait for their trainer, at once, in one process. */
export const maxAnswersUnderWay = 1024
/** A trainer asks again within seconds. Later, nobody waits for the answers any more. */
const usualForgetMs = 60_000

export type WantedAnswer = SamplePlace & AnswerToSample

/** `policy`: the name that no other weights have. */
export type PolicyToSample = Pick<SampleRequest, 'accountId'> & {
  policy: string
  draw: (wanted: Pick<SampleRequest, 'answers' | 'onAnswer' | 'signal'>) => Promise<void>
}

type Drawing = {
  accountId: string
  isOver: Promise<void>
  answer: SampledAnswer | null
  failure: unknown
  lastAsked: NodeJS.Timeout
}

type Found = { sampled: (SamplePlace & SampledAnswer)[]; failure: unknown; hadRoom: boolean }

export function createSamplingWork(forgetMs = usualForgetMs) {
  const drawings = new Map<string, Drawing>()

  function forget(key: string, drawing: Drawing) {
    if (drawings.get(key) === drawing) drawings.delete(key)
  }

  /** Draws the answers that nobody draws, as many as the account may have at once. */
  function begin(policy: PolicyToSample, wanted: readonly WantedAnswer[]) {
    const held = [...drawings.values()].filter(({ accountId }) => accountId === policy.accountId).length
    const fresh = wanted.filter((each) => !drawings.has(keyOf(policy, each)))
    const answers = fresh.slice(0, Math.max(0, maxAnswersUnderWay - held))
    if (answers.length === 0) return
    const abort = new AbortController()
    const begun: [key: string, drawing: Drawing, end: () => void][] = []
    const lastAsked = setTimeout(() => {
      abort.abort(new ServiceError('unavailable', 'Nobody waits for these answers any more.'))
      for (const [key, drawing] of begun) forget(key, drawing)
    }, forgetMs).unref()
    for (const each of answers) {
      const { promise: isOver, resolve: end } = Promise.withResolvers<void>()
      const drawing = { accountId: policy.accountId, isOver, answer: null, failure: null, lastAsked }
      begun.push([keyOf(policy, each), drawing, end])
      drawings.set(keyOf(policy, each), drawing)
    }
    const onAnswer = (place: number, answer: SampledAnswer) => {
      const [, drawing, end] = begun[place] as (typeof begun)[number]
      drawing.answer = answer
      end()
    }
    policy.draw({ answers, onAnswer, signal: abort.signal }).catch((error: unknown) => {
      for (const [key, drawing, end] of begun) {
        if (drawing.answer) continue
        drawing.failure = error
        forget(key, drawing)
        end()
      }
    })
  }

  return {
    /**
     * Waits for the answers, or for as long as told. An answer is given once.
     * @returns also why answers failed, and whether all wanted ones were under way
     */
    async sample(policy: PolicyToSample, wanted: readonly WantedAnswer[], atMostMs: number): Promise<Found> {
      begin(policy, wanted)
      const own = wanted.flatMap((each) => {
        const drawing = drawings.get(keyOf(policy, each))
        return drawing ? [{ each, drawing }] : []
      })
      for (const { drawing } of own) drawing.lastAsked.refresh()
      const late = sleep(atMostMs, undefined, { ref: false })
      await Promise.race([late, Promise.all(own.map(({ drawing }) => drawing.isOver))])
      const sampled = own.flatMap(({ each, drawing }) => {
        if (!drawing.answer) return []
        forget(keyOf(policy, each), drawing)
        return [{ row: each.row, index: each.index, ...drawing.answer }]
      })
      const failure = own.find(({ drawing }) => drawing.failure !== null)?.drawing.failure ?? null
      return { sampled, failure, hadRoom: own.length === wanted.length }
    },
  }
}

const keyOf = ({ policy }: PolicyToSample, { row, index, seed }: WantedAnswer) => `${policy} ${row} ${index} ${seed}`
