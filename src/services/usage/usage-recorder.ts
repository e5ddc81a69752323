// Counts in memory what keys use of models, and adds the sums to the database every two seconds. A killed process loses
// its last sums; a process that stops writes them first.
import { randomUUID } from 'node:crypto'
import { dayOf, type UsageAmount, type UsageKey } from '../../domain/usage.ts'
import type { Log } from '../../log.ts'
import type { Database } from '../../repositories/database.ts'
import type { UsageBatch } from '../../repositories/usage.ts'

export type UsageRecorder = ReturnType<typeof createUsageRecorder>
type Counted = Omit<UsageAmount, 'trainingSeconds'>

const flushEveryMs = 2000
const maxBatchEntries = 1000
const nothing: Counted = { prompts: 0, promptTokens: 0, completionTokens: 0, engineSeconds: 0, gpuSeconds: 0 }

export function createUsageRecorder({ usage, log }: { usage: Pick<Database['usage'], 'add'>; log: Log }) {
  const writer = randomUUID()
  let counted = new Map<string, UsageKey & Counted>()
  /** A batch is sent unchanged until the database confirms it, because a confirmation may be lost. */
  const batches: UsageBatch[] = []
  let batchCount = 0
  let flushing: Promise<void> = Promise.resolve()
  const timer = setInterval(() => void flush(), flushEveryMs).unref()

  function add({ accountId, apiKeyId, model }: Omit<UsageKey, 'day'>, amount: Partial<Counted>) {
    const day = dayOf(new Date())
    const name = JSON.stringify([accountId, day, apiKeyId, model])
    const old = counted.get(name) ?? nothing
    const sums = Object.keys(nothing) as (keyof Counted)[]
    const added = Object.fromEntries(sums.map((sum) => [sum, old[sum] + (amount[sum] ?? 0)])) as Counted
    counted.set(name, { accountId, apiKeyId, model, day, ...added })
  }

  /** One batch at a time, in order. */
  const flush = () => (flushing = flushing.then(write))

  async function write() {
    try {
      await send()
      cut()
      await send()
    } catch (error) {
      log.warn({ err: error }, 'failed to write usage')
    }
  }

  async function send() {
    for (let next = batches[0]; next; next = batches[0]) {
      await usage.add(next)
      batches.shift()
    }
  }

  /** Called once all earlier batches are written, so that an outage leaves sums and no heap of batches. */
  function cut() {
    const entries = [...counted.values()]
    counted = new Map()
    for (let start = 0; start < entries.length; start += maxBatchEntries)
      batches.push({ writer, batch: ++batchCount, entries: entries.slice(start, start + maxBatchEntries) })
  }

  return {
    add,
    async close() {
      clearInterval(timer)
      await flush()
    },
  }
}
