// The results of a chunk: its items go to the model together, refused ones are left out, and a streaming chunk shows shorter texts
// before its final ones.
import { ApplicationFailure } from '@temporalio/activity'
import type { BatchCompletionInput, BatchItem, ChunkResults, InferenceBatch } from '../src/domain/inference-batch.ts'
import { countEmpty } from '../src/domain/answer-warning.ts'
import { ServiceError } from '../src/domain/service-error.ts'
import { answerLines, type AnswerLine } from './request-lines.ts'
import { partialCompletions, type Completions } from './partial-completions.ts'
import { answerOthers, type Answered } from './refused-items.ts'

type AccountKey = Pick<InferenceBatch, 'accountId' | 'apiKeyId'>

export type Infer = {
  complete(
    input: AccountKey & BatchCompletionInput & { modelName: string; prompts: BatchItem[] },
    signal: AbortSignal,
  ): Promise<Completions>
  embed(
    input: AccountKey & { modelName: string | null; texts: string[]; onLong: 'cut' | 'refuse' },
    signal: AbortSignal,
  ): Promise<number[][]>
  answerLine: AnswerLine
}

type Chunk = { start: number; items: readonly BatchItem[]; signal: AbortSignal }

/**
 * Yields the final results last.
 * @throws ServiceError and other errors of the model, if they are about no item
 */
export async function* answerChunk(infer: Infer, batch: InferenceBatch, chunk: Chunk): AsyncGenerator<ChunkResults> {
  const { accountId, apiKeyId, modelName, kind, request } = batch
  const { start, items, signal } = chunk
  const answer = answerOthers({ start, itemCount: items.length })
  if (request.requests || request.endpoint) {
    yield await answerLines(infer, batch, { start, items: items as string[], signal })
    return
  }
  const at = <Item extends BatchItem>(positions: readonly number[]) =>
    positions.map((position) => items[position] as Item)
  if (request.input === null) {
    const onLong = request.truncate ? 'cut' : 'refuse'
    const { answers, errors } = await answer((positions) =>
      infer.embed({ accountId, apiKeyId, modelName, texts: at<string>(positions), onLong }, signal),
    )
    yield { values: unbracketed(answers), finishReasons: '', step: 0, isFinal: true, ...errorsOf(errors) }
    return
  }
  const input = { ...request.input, accountId, apiKeyId, modelName }
  let errors: Answered<unknown>['errors'] = []
  const complete = async (maxTokens: number | null): Promise<Completions> => {
    const answered = await answer(async (positions) =>
      pairs(await infer.complete({ ...input, maxTokens, prompts: at(positions) }, signal)),
    )
    errors = answered.errors
    return unpaired(answered.answers)
  }
  let step = 0
  if (kind === 'streaming')
    for await (const partial of partialCompletions(input, complete)) yield resultsOf(partial, step++, false, errors)
  yield resultsOf(await complete(input.maxTokens), step, true, errors)
}

const temporary: readonly ServiceError['code'][] = ['unavailable', 'quota_exceeded']

/** Refused: no retry can help. ModelUnavailable: a later try may succeed. */
export function failureOf(error: unknown): ApplicationFailure {
  if (error instanceof ServiceError && !temporary.includes(error.code))
    return ApplicationFailure.nonRetryable(error.message, 'Refused')
  const message = error instanceof ServiceError ? error.message : 'The model failed to answer.'
  const cause = error instanceof Error ? error : new Error(String(error))
  return ApplicationFailure.create({ message, type: 'ModelUnavailable', nonRetryable: true, cause })
}

type Pair = { output: Completions['outputs'][number]; reason: string | null }

const pairs = ({ outputs, finishReasons }: Completions): Pair[] =>
  outputs.map((output, index) => ({ output, reason: finishReasons[index] ?? null }))

const unpaired = (answers: readonly (Pair | null)[]): Completions => ({
  outputs: answers.map((pair) => pair && pair.output),
  finishReasons: answers.map((pair) => (pair ? pair.reason : 'error')),
})

const unbracketed = (values: readonly unknown[]) => JSON.stringify(values).slice(1, -1)

const errorsOf = (errors: Answered<unknown>['errors']) => ({ errors: unbracketed(errors), errorCount: errors.length })

const resultsOf = (
  { outputs, finishReasons }: Completions,
  step: number,
  isFinal: boolean,
  errors: Answered<unknown>['errors'],
): ChunkResults => ({
  values: unbracketed(outputs),
  finishReasons: unbracketed(finishReasons),
  step,
  isFinal,
  ...errorsOf(errors),
  emptyCount: countEmpty(outputs),
})
