// Counts what keys use of models, in memory, and adds it to the database every few seconds. A process that is killed loses
// what it has counted since; one that stops adds it first.
import { dayOf, type UsageAmount, type UsageEntry, type UsageKey } from '../../domain/usage.ts'
import type { Log } from '../../log.ts'
import type { Database } from '../../repositories/database.ts'

export type UsageRecorder = ReturnType<typeof createUsageRecorder>
type Counted = Omit<UsageAmount, 'trainingSeconds'>

const flushEveryMs = 2000
const mostAtOnce = 1000
const nothing: Counted = { prompts: 0, promptTokens: 0, completionTokens: 0, engineSeconds: 0, gpuSeconds: 0 }

export function createUsageRecorder({ usage, log }: { usage: Pick<Database['usage'], 'add'>; log: Log }) {
  let counted = new Map<string, UsageKey & Counted>()
  let flushing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => void flush(), flushEveryMs).unref()

  function add({ accountId, apiKeyId, model }: Omit<UsageKey, 'day'>, amount: Partial<Counted>) {
    put({ ...nothing, ...amount, accountId, apiKeyId, model, day: dayOf(new Date()) })
  }

  function put(entry: UsageKey & Counted) {
    const name = JSON.stringify([entry.accountId, entry.day, entry.apiKeyId, entry.model])
    const old = counted.get(name) ?? nothing
    const sums = Object.keys(nothing) as (keyof Counted)[]
    counted.set(name, { ...entry, ...Object.fromEntries(sums.map((sum) => [sum, old[sum] + entry[sum]])) })
  }

  /** One at a time: what could not be written is put back before the next. */
  const flush = () => (flushing = flushing.then(write))

  async function write() {
    const entries = [...counted.values()]
    counted = new Map()
    for (let start = 0; start < entries.length; start += mostAtOnce)
      try {
        await usage.add(entries.slice(start, start + mostAtOnce) satisfies Omit<UsageEntry, 'trainingSeconds'>[])
      } catch (error) {
        for (const entry of entries.slice(start)) put(entry)
        log.warn({ err: error }, 'usage cannot be written now; it is kept')
        return
      }
  }

  return {
    add,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
