// Tells an outage of a dependency (the client may try again) from a bug, whichever library reports it.

/** Codes of sockets, Postgres and Prisma. SQLSTATE 40001 and 40P01 report transactions in conflict, 57014 a statement timeout. */
const outageCodes =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08\w{3}|40001|40P01|53\w{3}|57P\d\d|57014|25P03|P1001|P1002|P1008|P1017|P2024|P2028|P2034|P2037)$/
/** The object store rejects our signatures (its secret was changed, or a clock is wrong), or nobody gives us credentials for it. */
const signatureCodes =
  /^(AccessDenied|CredentialsUnavailable|ExpiredToken|InvalidAccessKeyId|InvalidToken|RequestTimeTooSkewed|SignatureDoesNotMatch)$/
const outageKinds =
  /^(DatabaseNotReachable|DatabaseAccessDenied|ConnectionClosed|SocketTimeout|TooManyConnections|TlsConnectionError)$/
/** Errors without a code: from node-postgres, minio's client, and our own upload-stream.ts. */
const outageMessages =
  /(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Retryable HTTP status: \d{3}|object store answered (403|408|429|5\d\d)|object store refused to remove)/

export function isOutage(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const { code, kind, originalCode, message, cause, meta, errors } = error as Record<string, unknown>
  if (matches(outageCodes, code) || matches(outageCodes, originalCode) || matches(outageKinds, kind)) return true
  if (matches(signatureCodes, code)) return true
  if (matches(outageMessages, message)) return true
  const inner = [cause, driverError(meta), ...(Array.isArray(errors) ? errors : [])]
  return inner.some((each) => isOutage(each, depth + 1))
}

const matches = (pattern: RegExp, value: unknown) => typeof value === 'string' && pattern.test(value)

const driverError = (meta: unknown) =>
  typeof meta === 'object' && meta !== null && 'driverAdapterError' in meta ? meta.driverAdapterError : undefined

/** The classes of the language itself. Libraries report trouble outside of this process by classes of their own. */
const builtIn: unknown[] = [Error, TypeError, RangeError, SyntaxError, ReferenceError, URIError, EvalError]

/** Whether the error comes from our own code or from the bytes it works on, so that trying for ever cannot help. */
export function isBug(error: unknown): boolean {
  if (!(error instanceof Error)) return true
  if (['AbortError', 'TimeoutError'].includes(error.name) || isOutage(error)) return false
  return builtIn.includes(error.constructor)
}
