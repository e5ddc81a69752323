// One delivery to a user's endpoint. Only the status of its answer counts.
import { createExchange, sentenceOf, type CallRules, type Incoming, type ResolveHost } from './exchange.ts'

type Call = { url: string; headers: Record<string, string>; body: string; signal: AbortSignal }

/** `error` is a sentence; null for an answer of 2xx. */
type Answer = { statusCode: number | null; error: string | null; retryAfterMs: number }

/** The answer is read up to this size, so that the receiver sees it taken. */
const maxAnswerBytes = 64 * 1024

export function createCall({
  timeoutMs = 15_000,
  ...rules
}: CallRules & { resolve?: ResolveHost; timeoutMs?: number }) {
  const exchange = createExchange(rules)
  /** @returns null when `signal` has aborted */
  return async ({ signal: stopping, ...call }: Call): Promise<Answer | null> => {
    const timeout = AbortSignal.timeout(timeoutMs)
    const signal = AbortSignal.any([stopping, timeout])
    try {
      return answerTo(await exchange({ method: 'POST', ...call, maxAnswerBytes, signal }))
    } catch (error) {
      if (stopping.aborted) return null
      const sentence = timeout.aborted ? `No answer within ${timeoutMs / 1000} seconds.` : sentenceOf(error)
      return { statusCode: null, error: sentence, retryAfterMs: 0 }
    }
  }
}

function answerTo({ statusCode, headers }: Incoming): Answer {
  if (statusCode >= 200 && statusCode < 300) return { statusCode, error: null, retryAfterMs: 0 }
  const isRedirect = statusCode >= 300 && statusCode < 400
  const seconds = /^\d{1,9}$/.test(headers['retry-after'] ?? '') ? Number(headers['retry-after']) : 0
  const error = `The endpoint answered ${statusCode}${isRedirect ? ': redirects are not followed' : ''}.`
  return { statusCode, error, retryAfterMs: seconds * 1000 }
}
