// Reads a JSON body: bounded, UTF-8, of the right type. Refuses without having read more than it must.
import type { IncomingMessage } from 'node:http'
import { MIMEType } from 'node:util'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'

const mebibyte = 1024 * 1024
/** What an ordinary client may still be sending when we already know the answer. */
const drainLimitBytes = 64 * mebibyte
const drainTimeoutMs = 30_000
/** Of a body that is read as it arrives: the object store may be slow for a while, a client may not be gone. */
const silenceLimitMs = 5 * 60_000

const decoder = new TextDecoder('utf-8', { fatal: true })
const nothing = Buffer.alloc(0)

export async function readBody(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0)
  if (declaredBytes === 0 && request.headers['transfer-encoding'] === undefined) return nothing
  if (declaredBytes > 0) requireJson(request)
  if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
  const body = await collect(request, limitBytes)
  if (body.length > 0) requireJson(request)
  return body
}

/** The body as it arrives, its type and declared length checked. Who stops reading leaves the connection whole. */
export function openBody(request: IncomingMessage, limitBytes: number): AsyncIterable<Buffer> {
  const declaredBytes = Number(request.headers['content-length'] ?? 0)
  if (declaredBytes > 0 || request.headers['transfer-encoding'] !== undefined) requireJson(request)
  if (declaredBytes > limitBytes) throw tooLarge(limitBytes)
  request.setTimeout(silenceLimitMs, () => request.destroy())
  return request.iterator({ destroyOnReturn: false }) as AsyncIterable<Buffer>
}

/** @throws ServiceError invalid_input */
export function parseJson(body: Buffer): unknown {
  let text: string
  try {
    text = decoder.decode(body)
  } catch {
    throw invalidInput('', 'The body must be JSON in UTF-8; it holds bytes that are not.')
  }
  try {
    return JSON.parse(text)
  } catch (error) {
    throw invalidInput(
      '',
      `The body is not valid JSON: ${error instanceof Error ? error.message : 'it cannot be read'}.`,
    )
  }
}

/**
 * Reads off what the client is still sending, so that it comes to reading our answer.
 * @returns false when there is too much of it: the connection must be closed after the answer
 */
export async function drain(request: IncomingMessage): Promise<boolean> {
  if (request.complete) return true
  if (request.destroyed) return false
  return new Promise((resolve) => {
    let sizeBytes = 0
    const finish = (isDrained: boolean) => {
      clearTimeout(timer)
      request.off('data', onData).off('end', onEnd).off('close', onClose).off('error', onClose)
      if (!isDrained) request.pause()
      resolve(isDrained)
    }
    const onData = (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes > drainLimitBytes) finish(false)
    }
    const onEnd = () => finish(true)
    const onClose = () => finish(false)
    const timer = setTimeout(onClose, drainTimeoutMs)
    request.on('data', onData).on('end', onEnd).on('close', onClose).on('error', onClose)
    request.resume()
  })
}

function collect(request: IncomingMessage, limitBytes: number): Promise<Buffer> {
  return new Promise((resolve, reject) => {
    const chunks: Buffer[] = []
    let sizeBytes = 0
    const stop = () => request.off('data', onData).off('end', onEnd).off('error', onGone).off('close', onGone)
    const onData = (chunk: Buffer) => {
      sizeBytes += chunk.length
      if (sizeBytes <= limitBytes) return void chunks.push(chunk)
      stop().pause()
      reject(tooLarge(limitBytes))
    }
    const onEnd = () => {
      stop()
      resolve(chunks.length === 1 && chunks[0] ? chunks[0] : Buffer.concat(chunks))
    }
    const onGone = () => {
      stop()
      reject(invalidInput('', 'The connection was closed before the whole body had arrived.'))
    }
    request.on('data', onData).on('end', onEnd).on('error', onGone).on('close', onGone)
  })
}

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

function parseMimeType(text: string | undefined): MIMEType | undefined {
  try {
    return text === undefined ? undefined : new MIMEType(text)
  } catch {
    return undefined
  }
}
