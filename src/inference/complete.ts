// A prompt's way through the service. In this order:
//   check      the lengths and characters of the prompts, before any work is done for them
//   admit      within what the account and the process may have under way (admission.ts); meanwhile the model stays up
//   place      stored rows before the prompts, as many as fit (retrieval.ts)
//   form       free text, or an answer of a form, whose grammar is written and whose answers are checked:
//              typed-completion.ts, shaped-completion.ts, calls-completion.ts
//   chunk      rows of one grammar, in pieces of the engine's size, several at once (chunks.ts)
//   call       wakes a cold model, waits for the account's turn, chooses a replica, and calls another one when it dies
//              (call-with-failover.ts, which speaks to the engine by engine-client.ts)
//   answer     in the prompts' order
import { accept, type Accepted, type Generate, type Servers } from './accept.ts'
import { callWithFailover } from './call-with-failover.ts'
import { completeCalls } from './calls-completion.ts'
import { concurrencyFor, layOutCalls, runConcurrently } from './chunks.ts'
import { requestCompletions, streamCompletion } from './engine-client.ts'
import { naming, requireReadable } from './input-errors.ts'
import { partOf, promptsOf, type Choice, type Completions, type CompletionRequest, type RowGroup } from './request.ts'
import { placeRows, type UsedRows } from './retrieval.ts'
import { completeGrammar, completeSchemas } from './shaped-completion.ts'
import { createGrowingText } from './stream-assembler.ts'
import { workOf } from './text-bounds.ts'
import { completeTyped } from './typed-completion.ts'

const defaultMaxTokens = 256

/** @throws ServiceError invalid_input naming a prompt by its position, quota_exceeded, unavailable; the signal's reason */
export async function complete(servers: Servers, asked: CompletionRequest): Promise<Completions & UsedRows> {
  const prompts = promptsOf(asked.input)
  requireReadable(asked.baseModel, prompts)
  if (prompts.length === 0) return { outputs: [], finishReasons: [] }
  using accepted = accept(servers, asked, prompts.length)
  const { input, ...usedRows } = await placeRows(accepted)
  return { ...(await answer({ ...accepted, input })), ...usedRows }
}

function answer(request: Accepted<CompletionRequest>): Promise<Completions> {
  const { answer: form } = request
  switch (form.kind) {
    case 'text':
      return completeText(request)
    case 'typed':
      return completeTyped({ ...request, answer: form }, generate)
    case 'schema':
      return completeSchemas({ ...request, answer: form }, generate)
    case 'calls':
      return completeCalls({ ...request, answer: form }, generate)
    case 'regex':
    case 'grammar':
      return completeGrammar({ ...request, answer: form }, generate)
  }
}

async function completeText(request: Accepted<CompletionRequest>): Promise<Completions> {
  const { baseModel, input, answer, sampling } = request
  const maxTokens = Math.min(answer.maxTokens ?? defaultMaxTokens, baseModel.contextLength)
  const rows = [...promptsOf(input).keys()]
  const choices = await generate(request, [{ rows, grammar: null, maxTokens }], sampling.seed)
  return {
    outputs: choices.map(({ text }) => ({ output: text })),
    finishReasons: choices.map(({ finishReason }) => finishReason),
    ...(sampling.extras?.logprobs !== undefined && { logprobs: choices.map(({ logprobs }) => logprobs) }),
  }
}

const generate: Generate = async (request, groups, seed) => {
  const { servers, baseModel, input, sampling, signal, onText, meter, room } = request
  const { temperature, topP, stop, extras = null } = sampling
  const growing = onText && createGrowingText(onText, { mayRepeat: extras?.logprobs === undefined })
  const choices: Choice[] = []
  const ask = async ({ rows, grammar, maxTokens, isCallers = false }: RowGroup, chunkSignal: AbortSignal) => {
    const part = partOf(input, rows)
    // A stop word would cut a typed answer short.
    const stops = grammar === null || isCallers ? stop : []
    const asked = {
      input: part,
      grammar,
      maxTokens,
      temperature: temperature ?? 0,
      topP: topP ?? 1,
      seed,
      stop: stops,
      extras,
    }
    const call = growing ? streamCompletion(asked, growing) : requestCompletions(asked, room)
    try {
      const answered = await callWithFailover(request, workOf(promptsOf(part), maxTokens), chunkSignal, call)
      meter?.countTokens(answered.usage)
      rows.forEach((row, at) => (choices[row] = answered.choices[at] as Choice))
    } catch (error) {
      throw naming(error, baseModel, { rows, isCallersGrammar: isCallers })
    }
  }
  const concurrency = concurrencyFor(servers.endpoints.replicaCount(baseModel.name), input)
  await runConcurrently(layOutCalls(request, groups), signal, ask, concurrency)
  return choices
}
