// The lines of a chunk of a batch of requests: each is a request of its own, with a line of its own as its answer.
import { setImmediate as nextTurn } from 'node:timers/promises'
import type { BatchEndpoint, ChunkResults, InferenceBatch } from '../src/domain/inference-batch.ts'

/** `id` names the answer: the same for every try. */
type LineInput = { id: string; endpoint: BatchEndpoint; line: string }
/** One line of JSON, for the file of answers or for that of errors. */
type AnsweredLine = { isError: boolean; text: string }

/** Answers one line of a batch of requests. Throws what a later try may mend. */
export type AnswerLine = (
  input: Pick<InferenceBatch, 'accountId' | 'apiKeyId'> & LineInput,
  signal: AbortSignal,
) => Promise<AnsweredLine>

const maxChunkCharacters = 64 << 20
const tooLarge =
  'The answers of neighbouring lines are too large together. Ask for less on each line, or for fewer lines.'
/** Enough to fill an engine's batch. */
const linesAtOnce = 32

type LineBatch = Pick<InferenceBatch, 'id' | 'accountId' | 'apiKeyId'> & {
  request: Pick<InferenceBatch['request'], 'requests' | 'endpoint'>
}

/** @throws the first error that a later try may mend */
export async function answerLines(
  infer: { answerLine: AnswerLine },
  { id: batchId, accountId, apiKeyId, request }: LineBatch,
  { start, items, signal }: { start: number; items: readonly string[]; signal: AbortSignal },
): Promise<ChunkResults> {
  const endpoint = request.requests?.endpoint ?? request.endpoint ?? '/v1/completions'
  const failed = new AbortController()
  const own = AbortSignal.any([signal, failed.signal])
  const answers: AnsweredLine[] = []
  const left = items.entries()
  // Reading a line of a megabyte takes milliseconds: one line a turn, however many begin together.
  let turn = Promise.resolve()
  const ownTurn = () => (turn = turn.then(() => nextTurn()))
  const drain = async () => {
    for (const [at, line] of left) {
      await ownTurn()
      own.throwIfAborted()
      const id = requestId(batchId, start + at)
      answers[at] = await infer.answerLine({ id, accountId, apiKeyId, endpoint, line }, own)
    }
  }
  await Promise.all(
    Array.from({ length: Math.min(linesAtOnce, items.length) }, () =>
      drain().catch((error: unknown) => failed.abort(error)),
    ),
  )
  own.throwIfAborted()
  const bounded = withinBound(answers, (at) => requestId(batchId, start + at))
  const [errors, values] = [bounded.filter(({ isError }) => isError), bounded.filter(({ isError }) => !isError)]
  const text = (lines: readonly AnsweredLine[]) => lines.map((line) => `${line.text}\n`).join('')
  const isFinal = { step: 0, isFinal: true }
  return { values: text(values), finishReasons: '', errors: text(errors), errorCount: errors.length, ...isFinal }
}

/** A chunk is stored as one value, so answers beyond its bound become errors. */
function withinBound(answers: readonly AnsweredLine[], idAt: (at: number) => string): AnsweredLine[] {
  let left = maxChunkCharacters
  return answers.map((answer, at) => {
    if (answer.text.length <= left) {
      left -= answer.text.length
      return answer
    }
    const { custom_id } = JSON.parse(answer.text) as { custom_id: string | null }
    const error = { code: 'answer_too_large', message: tooLarge }
    return { isError: true, text: JSON.stringify({ id: idAt(at), custom_id, response: null, error }) }
  })
}

export const requestId = (batchId: string, index: number) => `batch_req_${batchId.replaceAll('-', '')}_${index}`
