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

/** A controller of its own, which also aborts with the outer signal. AbortSignal.any costs ten times as much. */
export function followAbort(signal: AbortSignal): AbortController & Disposable {
  signal.throwIfAborted()
  const own = new AbortController()
  const abort = () => own.abort(signal.reason)
  signal.addEventListener('abort', abort, { once: true })
  return Object.assign(own, { [Symbol.dispose]: () => signal.removeEventListener('abort', abort) })
}
