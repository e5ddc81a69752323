// Reads a JSON body: bounded, UTF-8, of the right type. Refuses without having read more than it must.
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { bodyTimedOut, slowBodyLimits, guardSlowBody, type SlowBodyLimits } from './slow-body-guard.ts'

const mebibyte = 1024 * 1024
/** A body this small is not worth a stream. */
const wholeBytes = 64 * 1024

const nothing = Buffer.alloc(0)

/** @throws ServiceError payload_too_large, unsupported_media_type, request_timeout */
export async function readBody(request: IncomingMessage, limitBytes: number, pace = slowBodyLimits): Promise<Buffer> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0)
  if (declaredBytes === 0 && request.headers['transfer-encoding'] === undefined) return nothing
  if (declaredBytes > 0) requireJson(request)
  if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
  const body = await collect(request, limitBytes, pace)
  if (body.length > 0) requireJson(request)
  return body
}

/** The body as it arrives, its type checked; a longer one fails where the limit is passed. Who stops reading leaves the connection whole. */
export async function openBody(
  request: IncomingMessage,
  limitBytes: number,
  pace = slowBodyLimits,
  requireType: (request: IncomingMessage) => void = requireJson,
): Promise<AsyncIterable<Buffer> | Iterable<Buffer>> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0)
  if (declaredBytes > 0 || request.headers['transfer-encoding'] !== undefined) requireType(request)
  if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
  const isSmall = declaredBytes > 0 && declaredBytes <= wholeBytes
  return isSmall ? [await collect(request, limitBytes, pace)] : arriving(request, limitBytes, pace)
}

/** Not the request's own iterator: that one could not be left while it waits. */
async function* arriving(request: IncomingMessage, limitBytes: number, pace: SlowBodyLimits): AsyncGenerator<Buffer> {
  let sizeBytes = 0
  let isLate = false
  let wake = () => {}
  const onChange = () => wake()
  const watch = guardSlowBody(pace, () => {
    isLate = true
    wake()
  })
  const events = ['readable', 'end', 'error', 'close']
  for (const event of events) request.on(event, onChange)
  try {
    while (!request.readableEnded) {
      const chunk = request.read() as Buffer | null
      if (chunk) {
        watch.arrived(chunk.length)
        sizeBytes += chunk.length
        if (sizeBytes > limitBytes) throw tooLarge(limitBytes)
        yield chunk
        continue
      }
      if (isLate) throw bodyTimedOut()
      if (request.destroyed) throw cutOff()
      watch.waits()
      await new Promise<void>((resolve) => (wake = resolve))
    }
  } finally {
    watch.stop()
    for (const event of events) request.off(event, onChange)
  }
}

function collect(request: IncomingMessage, limitBytes: number, pace: SlowBodyLimits): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let sizeBytes = 0
    const stop = () => {
      watch.stop()
      request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    }
    const refuse = (error: ServiceError) => {
      stop()
      request.pause()
      reject(error)
    }
    const onData = (chunk: Buffer) => {
      sizeBytes += chunk.length
      watch.arrived(chunk.length)
      if (sizeBytes > limitBytes) return refuse(tooLarge(limitBytes))
      chunks.push(chunk)
      watch.waits()
    }
    const onEnd = () => {
      stop()
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
    }
    const onGone = () => refuse(cutOff())
    const watch = guardSlowBody(pace, () => refuse(bodyTimedOut()))
    watch.waits()
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}

const cutOff = () => invalidInput('', 'The connection was closed before the whole body had arrived.')

const tooLarge = (limitBytes: number) =>
  new ServiceError(
    'payload_too_large',
    `The body is larger than the ${limitBytes / mebibyte} MB that this route takes.`,
  )

/** @throws ServiceError unsupported_media_type */
function requireJson({ headers }: IncomingMessage) {
  const refuse = (detail: string) => new ServiceError('unsupported_media_type', detail)
  const type = parseMimeType(headers['content-type'])
  if (!type || !/^application\/([\w.-]+\+)?json$/.test(type.essence))
    throw refuse('Send the body as JSON, with the header "Content-Type: application/json".')
  if (!['utf-8', 'utf8', 'us-ascii', 'ascii'].includes((type.params.get('charset') ?? 'utf-8').toLowerCase()))
    throw refuse('Send the body in UTF-8: no other charset is read.')
  if (!['', 'identity'].includes((headers['content-encoding'] ?? '').toLowerCase()))
    throw refuse('Send the body as it is, without a Content-Encoding.')
}

/** The boundary of a form. @throws ServiceError unsupported_media_type */
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
