/** Runs `work` one at a time. A call during a run starts one more run afterwards. */
export function coalesce(work: () => Promise<void>, onError: (error: unknown) => void): () => void {
  let running = false
  let wanted = false
  async function run(): Promise<void> {
    running = true
    do {
      wanted = false
      await work()
    } while (wanted)
    running = false
  }
  return () => {
    wanted = true
    if (!running) run().catch(onError)
  }
}
