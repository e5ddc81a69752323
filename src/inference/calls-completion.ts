// Answers that may call functions, in the format of the model. Arguments fit their schemas, and the calls are whole before the
// tokens run out.
import type { CallsShape } from '../domain/answer-shape.ts'
import { invalidInput } from '../domain/service-error.ts'
import type { CallFormat } from '../domain/tools/call-format.ts'
import { createCallReader, readCalls } from '../domain/tools/call-reader.ts'
import type { Accepted, Generate } from './accept.ts'
import { roundDown } from './answer-grammar/write-grammar.ts'
import { findCallFormat } from './call-formats.ts'
import { countPrompt } from './count-tokens.ts'
import { answerTooLong } from './input-errors.ts'
import type { Bounded, Completions, CompletionRequest } from './request.ts'
import { defaultTokens, workOn } from './shaped-completion.ts'

type CallsRequest = Accepted<CompletionRequest<Bounded<CallsShape>>>

/** The output is `{output, calls}`. A call may be unfinished only where the finish reason is "length". */
export async function completeCalls(request: CallsRequest, generate: Generate): Promise<Completions> {
  const { baseModel, answer: shape, sampling, signal } = request
  const format = await findCallFormat(request)
  const work = workOn(request)
  const least = Math.ceil(await work('leastOfCalls', shape, format))
  if (shape.isRequired && shape.maxTokens !== null && shape.maxTokens < least) throw budgetTooSmall(least)
  const left = baseModel.contextLength - (await countPrompt(request, 0, signal))
  if (left < least) throw answerTooLong(baseModel, 0)
  const room = Math.min(left, shape.maxTokens ?? (shape.isRequired ? defaultTokens : left))
  const budgets = budgetsOf(room, least, shape)
  for (const [round, tokens] of budgets.entries()) {
    const isLast = round === budgets.length - 1 || request.onText !== undefined
    const grammar = { grammar: await work('writeCalls', shape, { format, tokens }) }
    const seed = sampling.seed === null ? null : sampling.seed + round
    const streaming = createStreaming(request, format)
    const group = { rows: [0], grammar, maxTokens: room }
    const [choice] = await generate({ ...request, onText: streaming?.onText }, [group], seed)
    if (!choice) break
    streaming?.end()
    const read = readCalls(format, choice.text)
    const isCut = choice.finishReason === 'length'
    if ((isCut && (isLast || read.calls.length === 0)) || (!isCut && (await work('fitsCalls', shape, read))))
      return { outputs: [{ output: read.text, calls: read.calls as never }], finishReasons: [choice.finishReason] }
    if (isLast) break
  }
  throw new Error(`${baseModel.name} returned calls that its grammar forbids.`)
}

/** Passes the parts of a streamed answer on; the piece itself only shows that the model answers. */
function createStreaming({ onText, answer: { onPart } }: CallsRequest, format: CallFormat) {
  if (!onText) return null
  const reader = createCallReader(format)
  return {
    onText: (piece: string) => {
      onText(piece)
      for (const part of reader.read(piece)) onPart?.(part)
    },
    end: () => reader.end().forEach((part) => onPart?.(part)),
  }
}

/** A text before the calls may take half of the tokens. */
function budgetsOf(room: number, least: number, { isRequired }: CallsShape): number[] {
  const most = roundDown(Math.min((room - 1) / (isRequired ? 1 : 2), defaultTokens))
  return [Math.max(most, least), Math.max(most / 2, least), least]
}

const budgetTooSmall = (least: number) =>
  invalidInput('max_tokens', `max_tokens must be at least ${least} to hold a call of these tools.`)
