/** Stops waiting when the signal aborts. The work itself goes on: others may share it. */
export async function abortable<T>(work: Promise<T>, signal: AbortSignal): Promise<T> {
  signal.throwIfAborted()
  const { promise: aborted, reject } = Promise.withResolvers<never>()
  const abort = () => reject(signal.reason as Error)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await Promise.race([work, aborted])
  } finally {
    signal.removeEventListener('abort', abort)
  }
}

/** Runs `work` with a controller of its own, which also aborts with the outer signal. AbortSignal.any costs ten times as much. */
export async function withAbort<T>(signal: AbortSignal, work: (own: AbortController) => Promise<T>): Promise<T> {
  signal.throwIfAborted()
  const own = new AbortController()
  const abort = () => own.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  try {
    return await work(own)
  } finally {
    signal.removeEventListener('abort', abort)
  }
}
