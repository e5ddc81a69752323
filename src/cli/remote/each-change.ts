import type { Client } from './client.ts'

/** Calls `act` at once, after the job's stream has told something, and once after the end of the job. Never two at a time. */
export async function eachChange(client: Client, jobId: string, act: () => Promise<void>): Promise<void> {
  let [hasMore, isOver, wake] = [true, false, () => {}]
  const watching = watch().finally(() => {
    isOver = true
    wake()
  })
  // Awaited below; until then its failure must not count as unhandled.
  watching.catch(() => undefined)
  while (hasMore) {
    hasMore = false
    await act()
    if (!hasMore && !isOver) await new Promise<void>((resolve) => (wake = resolve))
  }
  await watching

  async function watch() {
    for await (const _event of client.follow(jobId, { from: 'now' })) {
      hasMore = true
      wake()
    }
  }
}
