// Limits how much work this process holds at once: of one account, and of all. Each process counts by itself.
import { ServiceError } from '../domain/service-error.ts'

type Amount = { prompts: number; requests: number }
export type AdmissionLimits = { all: Amount; account: Amount }

/** Room for ten of the largest requests, or for many small ones; half of it for one account. */
const usualLimits: AdmissionLimits = {
  all: { prompts: 100_000, requests: 2000 },
  account: { prompts: 50_000, requests: 1000 },
}
const retryAfterSeconds = 5
const units = ['prompts', 'requests'] as const

export function createAdmission(limits: AdmissionLimits = usualLimits) {
  const accounts = new Map<string, Amount>()
  const all: Amount = { prompts: 0, requests: 0 }

  /**
   * Counts a request until the returned function is called. When the process is full, an account may still have its equal
   * share. An account with nothing under way always gets in: no other account can keep it out.
   * @throws ServiceError quota_exceeded beyond the account's limit, unavailable beyond its share of a full process
   */
  return function admit(accountId: string, prompts: number): () => void {
    const held = accounts.get(accountId) ?? { prompts: 0, requests: 0 }
    const asked = { prompts, requests: 1 }
    if (held.requests > 0) {
      for (const unit of units) {
        const wanted = held[unit] + asked[unit]
        if (wanted > limits.account[unit]) throw beyondLimit(unit, limits.account[unit])
        const share = Math.floor(limits.all[unit] / accounts.size)
        if (all[unit] + asked[unit] > limits.all[unit] && wanted > share) throw beyondShare(unit, share)
      }
    }
    accounts.set(accountId, held)
    add(held, prompts, 1)
    add(all, prompts, 1)
    return () => {
      add(held, -prompts, -1)
      add(all, -prompts, -1)
      if (held.requests === 0) accounts.delete(accountId)
    }
  }
}

function add(amount: Amount, prompts: number, requests: number) {
  amount.prompts += prompts
  amount.requests += requests
}

const beyondLimit = (unit: keyof Amount, limit: number) =>
  new ServiceError(
    'quota_exceeded',
    `An account may have ${limit} ${unit} under way at once, and this request would exceed the limit. Send the request again when others are answered.`,
    { retryAfterSeconds },
  )

const beyondShare = (unit: keyof Amount, share: number) =>
  new ServiceError(
    'unavailable',
    `The queue is full. Meanwhile an account may have ${share} ${unit} under way, and this request would exceed that. Try again in a moment.`,
    { retryAfterSeconds },
  )
