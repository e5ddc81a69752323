// Accounts take turns at the event loop. Most requests are handled at once as far as the call of a model or the database, so
// two hundred that one account sends together would hold up another account's request until all of them are handled.

export type RequestTurns = (account: string) => Promise<void>

/** The returned function resolves when the account's turn has come: one turn between two looks at the sockets. */
export function createRequestTurns(): RequestTurns {
  /** The account whose turn is next comes first. */
  const lines = new Map<string, (() => void)[]>()
  /** A turn was given since the last look at the sockets. */
  let isGiven = false

  function next() {
    isGiven = lines.size > 0
    if (isGiven) setImmediate(next)
    for (const [account, line] of lines) {
      line.shift()?.()
      lines.delete(account)
      if (line.length > 0) lines.set(account, line)
      break
    }
  }

  return (account) => {
    if (!isGiven) {
      isGiven = true
      setImmediate(next)
      return Promise.resolve()
    }
    const { promise, resolve } = Promise.withResolvers<void>()
    const line = lines.get(account) ?? []
    line.push(resolve)
    lines.set(account, line)
    return promise
  }
}
