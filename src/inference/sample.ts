// Answers that a training learns from: token ids, with the log-probabilities by which they were drawn. A text that is
// tokenized again may have other tokens.
import { ServiceError } from '../domain/service-error.ts'
import { accept, type Servers } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { runConcurrently } from './chunks.ts'
import { EngineRefusal, send, type EngineCall } from './engine-client.ts'
import type { Usage } from './meter.ts'
import type { ModelRequest } from './request.ts'
import { workOf } from './text-bounds.ts'

/** `seed`: the digits of a whole number below 2^63. The answer draws from a random stream of its own. */
export type AnswerToSample = { prompt: readonly number[]; maxTokens: number; seed: string }
/** `tokens` has the one that ended the answer, if one did. */
export type SampledAnswer = { tokens: number[]; logps: number[]; finishReason: string }

export type SampleRequest = ModelRequest & {
  answers: readonly AnswerToSample[]
  temperature: number
  topP: number
  /** The form of the answers. */
  grammar: string | null
  /** Gets each answer as soon as it is complete, with its place in `answers`. */
  onAnswer: (place: number, answer: SampledAnswer) => void
}

/** A call has one answer, because engines draw all rows of a call from one seed. The queue bounds what runs at once. */
const answersAtOnce = 256

/** @throws ServiceError unavailable, quota_exceeded; conflict where the engine refuses; the signal's reason */
export async function sample(servers: Servers, asked: SampleRequest): Promise<void> {
  using request = accept(servers, asked, asked.answers.length)
  const { baseModel, answers, signal, meter, onAnswer } = request
  const ask = async (place: number, ownSignal: AbortSignal) => {
    const answer = answers[place] as AnswerToSample
    const work = workOf([answer.prompt], answer.maxTokens)
    const call = requestSample(asked, answer)
    try {
      const { usage, ...sampled } = await callWithFailover(request, work, ownSignal, call)
      meter?.countTokens(usage)
      onAnswer(place, sampled)
    } catch (error) {
      if (!(error instanceof EngineRefusal)) throw error
      throw new ServiceError('conflict', `The model server of ${baseModel.name} refuses to sample: ${error.message}`)
    }
  }
  await runConcurrently([...answers.keys()], signal, ask, answersAtOnce)
}

type WireSample = {
  choices: [{ token_ids: number[]; finish_reason: string; logprobs: { token_logprobs: number[] } }]
  usage: { prompt_tokens: number; completion_tokens: number }
}

/** Settings that engines may take from the files of a model, and that would change what is drawn. */
const neutral = { top_k: -1, min_p: 0, repetition_penalty: 1 }

const requestSample =
  (
    { temperature, topP, grammar }: Pick<SampleRequest, 'temperature' | 'topP' | 'grammar'>,
    { prompt, maxTokens, seed }: AnswerToSample,
  ): EngineCall<SampledAnswer & { usage: Usage }> =>
  async (endpoint, model, signal) => {
    const answer = await send(endpoint, 'POST', '/v1/completions', signal, {
      ...{ model, prompt: [prompt], max_tokens: maxTokens, temperature, top_p: topP, seed: wholeNumber(seed) },
      ...{ ...neutral, logprobs: 0, return_token_ids: true },
      // vLLM knows only those before the temperature, which are the same at 1.
      ...(temperature !== 1 && { logprobs_at_temperature: true }),
      ...(grammar !== null && { structured_outputs: { grammar }, logprobs_restricted: true }),
    })
    const { choices, usage } = answer as WireSample
    const { token_ids: tokens, finish_reason: finishReason, logprobs } = choices[0]
    const logps = logprobs.token_logprobs
    if (tokens.length === 0 || tokens.length !== logps.length)
      throw new Error(`The engine returned ${logps.length} log-probabilities for ${tokens.length} tokens.`)
    const { prompt_tokens: promptTokens, completion_tokens: completionTokens } = usage
    return { tokens, logps, finishReason, usage: { promptTokens, completionTokens } }
  }

/** Written digit by digit: JavaScript's numbers are exact to 2^53. The types of this release lack JSON.rawJSON. */
const wholeNumber = (digits: string): unknown =>
  (JSON as unknown as { rawJSON: (text: string) => object }).rawJSON(digits)
