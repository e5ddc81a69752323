// Reads the bytes of a body: of the right type, within a size limit, and not from a sender that is too slow.
import type { Hash } from 'node:crypto'
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { bodyTimedOut, guardSlowBody, slowBodyLimits, type SlowBodyLimits } from './slow-body-guard.ts'

const mebibyte = 1024 * 1024
const leastCapacityBytes = 64 * 1024

type BodyOptions = {
  /** Reserves memory for this many bytes: the declared length before the first byte is read, or else what has arrived. */
  reserve: (sizeBytes: number) => void
  limits?: SlowBodyLimits
  /** May refuse the headers of a body that is not empty. */
  requireType?: (request: IncomingMessage) => void
}

/**
 * Copies the body into one buffer, because small pieces would take many times their size.
 * @param hash gets each piece when it arrives, because hashing 64 MB at once would hold up the event loop
 * @throws as `openBody`
 */
export async function readBody(
  request: IncomingMessage,
  limitBytes: number,
  { reserve, hash, ...options }: BodyOptions & { hash?: Hash | null },
): Promise<Buffer> {
  let [bytes, sizeBytes] = [Buffer.alloc(0), 0]
  function makeRoom(neededBytes: number) {
    if (neededBytes <= bytes.length) return
    const isDeclared = request.headers['content-length'] !== undefined
    const doubled = Math.max(leastCapacityBytes, 2 * bytes.length, neededBytes)
    const capacity = isDeclared ? neededBytes : Math.min(limitBytes, doubled)
    reserve(capacity)
    const larger = Buffer.allocUnsafe(capacity)
    bytes.copy(larger)
    bytes = larger
  }
  for await (const chunk of openBody(request, limitBytes, { ...options, reserve: makeRoom })) {
    hash?.update(chunk)
    chunk.copy(bytes, sizeBytes)
    sizeBytes += chunk.length
  }
  return bytes.subarray(0, sizeBytes)
}

/**
 * Yields the body while it arrives. Does not use the request's own iterator: leaving that one closes the connection.
 * @throws ServiceError payload_too_large as soon as the limit is passed, unsupported_media_type, request_timeout, and what
 * `reserve` throws
 */
export async function* openBody(
  request: IncomingMessage,
  limitBytes: number,
  { reserve, limits = slowBodyLimits, requireType = requireJson }: BodyOptions,
): AsyncGenerator<Buffer> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0)
  if (declaredBytes === 0 && request.headers['transfer-encoding'] === undefined) return
  if (declaredBytes > 0) requireType(request)
  if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
  reserve(declaredBytes)
  let sizeBytes = 0
  let isLate = false
  let wake = () => {}
  const onChange = () => wake()
  const guard = guardSlowBody(limits, () => {
    isLate = true
    wake()
  })
  const events = ['readable', 'end', 'error', 'close']
  for (const event of events) request.on(event, onChange)
  try {
    while (!request.readableEnded) {
      const chunk = request.read() as Buffer | null
      if (chunk) {
        guard.arrived(chunk.length)
        if (sizeBytes === 0) requireType(request)
        sizeBytes += chunk.length
        if (sizeBytes > limitBytes) throw tooLarge(limitBytes)
        reserve(sizeBytes)
        yield chunk
        continue
      }
      if (isLate) throw bodyTimedOut()
      if (request.destroyed) throw invalidInput('', 'The connection was closed before the whole body had arrived.')
      guard.waits()
      await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    guard.stop()
    for (const event of events) request.off(event, onChange)
  }
}

const tooLarge = (limitBytes: number) =>
  new ServiceError('payload_too_large', `The body is larger than the ${limitBytes / mebibyte} MB limit of this route.`)

/** @throws ServiceError unsupported_media_type */
function requireJson({ headers }: IncomingMessage) {
  const refuse = (detail: string) => new ServiceError('unsupported_media_type', detail)
  const type = parseMimeType(headers['content-type'])
  if (!type || !/^application\/([\w.-]+\+)?json$/.test(type.essence))
    throw refuse('Send the body as JSON, with the header "Content-Type: application/json".')
  if (!['utf-8', 'utf8', 'us-ascii', 'ascii'].includes((type.params.get('charset') ?? 'utf-8').toLowerCase()))
    throw refuse('Send the body in UTF-8. No other charset is accepted.')
  if (!['', 'identity'].includes((headers['content-encoding'] ?? '').toLowerCase()))
    throw refuse('Send the body uncompressed, without a Content-Encoding header.')
}

/** @returns the boundary of a form. @throws ServiceError unsupported_media_type */
export function formBoundary({ headers }: IncomingMessage): string {
  const type = parseMimeType(headers['content-type'])
  const boundary = type?.essence === 'multipart/form-data' ? type.params.get('boundary') : null
  if (boundary && boundary.length <= 200) return boundary
  throw new ServiceError(
    'unsupported_media_type',
    'Send a form, with the header "Content-Type: multipart/form-data; boundary=...".',
  )
}

function parseMimeType(text: string | undefined): MIMEType | undefined {
  try {
    return text === undefined ? undefined : new MIMEType(text)
  } catch {
    return undefined
  }
}
