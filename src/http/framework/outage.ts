// Tells a dependency that is away (try again) from a bug of ours, whatever library the error came through.

/** Of sockets, of Postgres (SQLSTATE classes 08, 53 and 57P; 40001 and 40P01 are two that wait for each other, 57014 is a statement that took too long) and of Prisma. */
const outageCodes =
  /^(ECONNREFUSED|ECONNRESET|ECONNABORTED|EPIPE|ETIMEDOUT|EHOSTUNREACH|ENETUNREACH|ENOTFOUND|EAI_AGAIN|08\w{3}|40001|40P01|53\w{3}|57P\d\d|57014|25P03|P1001|P1002|P1008|P1017|P2024|P2028|P2034|P2037)$/
/** Of an object store that refuses what we sign: its secret was changed, or a clock is wrong. */
const refusalCodes = /^(AccessDenied|InvalidAccessKeyId|RequestTimeTooSkewed|SignatureDoesNotMatch)$/
const outageKinds =
  /^(DatabaseNotReachable|DatabaseAccessDenied|ConnectionClosed|SocketTimeout|TooManyConnections|TlsConnectionError)$/
/** Without a code: of node-postgres, and of a busy object store, by its client library or by upload-stream.ts. */
const outageMessages =
  /(timeout exceeded when trying to connect|Connection terminated|Client has encountered a connection error|Retryable HTTP status: \d{3}|object store answered (403|408|429|5\d\d))/

export function isOutage(error: unknown, depth = 0): boolean {
  if (typeof error !== 'object' || error === null || depth > 5) return false
  const { code, kind, originalCode, message, cause, meta, errors } = error as Record<string, unknown>
  if (matches(outageCodes, code) || matches(outageCodes, originalCode) || matches(outageKinds, kind)) return true
  if (matches(refusalCodes, code)) return true
  if (matches(outageMessages, message)) return true
  const inner = [cause, driverError(meta), ...(Array.isArray(errors) ? errors : [])]
  return inner.some((each) => isOutage(each, depth + 1))
}

const matches = (pattern: RegExp, value: unknown) => typeof value === 'string' && pattern.test(value)

const driverError = (meta: unknown) =>
  typeof meta === 'object' && meta !== null && 'driverAdapterError' in meta ? meta.driverAdapterError : undefined
