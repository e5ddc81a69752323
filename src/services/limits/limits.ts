// Limits of requests per second and concurrent requests of a key, and of failed authentications of an address.
import { ServiceError } from '../../domain/service-error.ts'
import type { Log } from '../../log.ts'
import { requestBucketKey, type RateLimits } from '../../repositories/rate-limits.ts'
import { createRequestBuckets, type RequestRate } from './request-buckets.ts'

type LimitSettings = {
  requests: RequestRate
  /** Of one key in one api process. */
  concurrentRequests: number
  failedAuthenticationsPerMinute: number
  /** Of one account. */
  judgeTokensPerDay: number
}

const secondsOfDay = 86_400

export type Limits = ReturnType<typeof createLimits>

export function createLimits({ store, settings, log }: { store: RateLimits; settings: LimitSettings; log: Log }) {
  const buckets = createRequestBuckets({ rate: settings.requests, charge: (charges) => store.charge(charges), log })
  const failures = store.limiter({
    keyPrefix: 'failed-authentications',
    points: settings.failedAuthenticationsPerMinute,
    seconds: 60,
  })
  const judged = store.limiter({
    keyPrefix: 'judge-tokens',
    points: settings.judgeTokensPerDay,
    seconds: secondsOfDay,
  })
  const running = new Map<string, number>()

  return {
    settings,

    /**
     * Counts a request of a valid key. The caller ends the request with the returned function.
     * @throws ServiceError rate_limited
     */
    beginRequest(apiKeyId: string): () => void {
      const waitMs = buckets.take(requestBucketKey(apiKeyId))
      const { perSecond } = settings.requests
      if (waitMs > 0) throw limited(`This key has made more than ${perSecond} requests a second.`, waitMs)
      const count = (running.get(apiKeyId) ?? 0) + 1
      const max = settings.concurrentRequests
      if (count > max) throw limited(`This key has ${max} running requests, the most that it may have.`, 1000)
      running.set(apiKeyId, count)
      return () => {
        const left = (running.get(apiKeyId) ?? 1) - 1
        if (left > 0) running.set(apiKeyId, left)
        else running.delete(apiKeyId)
      }
    },

    /** Counts and limits failed authentications only; valid keys pass. @throws ServiceError rate_limited */
    async countFailedAuthentication(address: string) {
      try {
        await failures.consume(address)
      } catch (refusal) {
        if (refusal instanceof Error) throw refusal
        const { msBeforeNext } = refusal as { msBeforeNext: number }
        throw limited('This address has sent too many invalid API keys.', msBeforeNext)
      }
    },

    /** Tokens of models that judge the answers of an account's reinforcement jobs. A day begins with its first token. */
    judgeTokens: {
      perDay: settings.judgeTokensPerDay,

      async usedBy(accountId: string): Promise<{ used: number; untilMs: number }> {
        const found = await judged.get(accountId)
        return { used: found?.consumedPoints ?? 0, untilMs: Math.max(0, found?.msBeforeNext ?? 0) }
      },

      /** Counts beyond the limit, too. */
      async count(accountId: string, tokens: number) {
        if (tokens > 0) await judged.penalty(accountId, tokens)
      },
    },

    async close() {
      await buckets.close()
      await store.close()
    },
  }
}

const limited = (sentence: string, waitMs: number) => {
  const retryAfterSeconds = Math.max(1, Math.ceil(waitMs / 1000))
  const unit = retryAfterSeconds === 1 ? 'second' : 'seconds'
  return new ServiceError('rate_limited', `${sentence} Try again in ${retryAfterSeconds} ${unit}.`, {
    retryAfterSeconds,
  })
}
