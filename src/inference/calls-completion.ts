// Answers that may call functions, in the format of the model. Arguments fit their schemas, and the calls are whole before the
// tokens run out.
import type { CallsShape } from '../domain/answer-shape.ts'
import { invalidInput } from '../domain/service-error.ts'
import type { CallFormat } from '../domain/tools/call-format.ts'
import { createCallReader, readCalls } from '../domain/tools/call-reader.ts'
import { roundDown } from './answer-grammar/write-grammar.ts'
import { findCallFormat } from './call-formats.ts'
import type { Servers } from './call-with-failover.ts'
import { countPrompt, defaultTokens, workOn, type ShapedInput } from './shaped-completion.ts'
import { generate } from './generation.ts'
import { answerTooLong } from './input-errors.ts'
import type { Completions } from './typed-completion.ts'

/** The output is `{output, calls}`. A call may be unfinished only where the finish reason is "length". */
export async function completeCalls(servers: Servers, input: ShapedInput, shape: CallsShape): Promise<Completions> {
  const { baseModel, sampling, answerTokens = null, signal } = input
  const format = await findCallFormat(servers, input, signal)
  const work = workOn(servers, input)
  const least = Math.ceil(await work('leastOfCalls', shape, format))
  if (shape.isRequired && answerTokens !== null && answerTokens < least) throw budgetTooSmall(least)
  const left = baseModel.contextLength - (await countPrompt(servers, input, 0))
  if (left < least) throw answerTooLong(baseModel, 0)
  const room = Math.min(left, answerTokens ?? (shape.isRequired ? defaultTokens : left))
  const budgets = budgetsOf(room, least, shape)
  for (const [round, tokens] of budgets.entries()) {
    const isLast = round === budgets.length - 1 || input.onText !== undefined
    const grammar = { grammar: await work('writeCalls', shape, { format, tokens }) }
    const seed = sampling.seed === null ? null : sampling.seed + round
    const group = { rows: [{ index: 0, prompt: input.prompts[0] ?? '' }], grammar, maxTokens: room }
    const streaming = createStreaming(input, shape, format)
    const [choice] = await generate(servers, { ...input, onText: streaming?.onText }, [group], seed)
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
function createStreaming({ onText }: ShapedInput, { onPart }: CallsShape, format: CallFormat) {
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
