// What surrounds every request: its id, common headers, metrics, log lines, and the error answer.
import type { Request, Response } from 'express'
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Log } from '../../log.ts'
import { drain, linger } from './drain.ts'
import type { Metrics } from './metrics.ts'
import { describeError, errorFormatFor, type ErrorFormat } from './problem.ts'
import { eventText, isEventStream, startAnswer } from './respond.ts'

export type RequestContextOptions = {
  edge: 'public' | 'internal' | 'admin'
  log: Log
  metrics: Metrics
  /** Error formats beside RFC 9457, by the beginning of the path. */
  errorFormats?: readonly ErrorFormat[]
}

type RequestContext = { requestId: string; route: string; isAnswered?: boolean }

export const requestContext = (response: Response) => response.locals as RequestContext

export function openRequestContext({ edge, log, metrics }: RequestContextOptions) {
  return (request: Request, response: Response, next: () => void) => {
    const startedAt = performance.now()
    const given = request.headers['x-request-id']
    const requestId = typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
    response.locals = { requestId, route: 'unmatched' } satisfies RequestContext
    response.setHeader('Cache-Control', 'no-store')
    response.setHeader('X-Request-Id', requestId)
    response.once('close', () => {
      const { route, isAnswered } = requestContext(response)
      // 499 is nginx's status for a client that left early.
      const status = response.writableFinished || isAnswered ? response.statusCode : 499
      const method = route === 'unmatched' ? 'any' : request.method
      const seconds = (performance.now() - startedAt) / 1000
      metrics.observeRequest({ edge, method, route, status }, seconds)
      log.debug({ requestId, method: request.method, route, status, durationMs: Math.round(seconds * 1000) }, 'request')
    })
    next()
  }
}

export async function sendProblem(
  error: unknown,
  request: Request,
  response: Response,
  { log, errorFormats }: RequestContextOptions,
) {
  const { requestId, route } = requestContext(response)
  const failure = describeError(error, request)
  const level = failure.status === 503 ? 'warn' : 'error'
  // A client that left has aborted its own work, which is no failure of ours.
  if (failure.isOurs && !response.destroyed)
    log[level]({ err: error, requestId, route, status: failure.status }, 'request failed')
  const format = errorFormatFor(request.path, errorFormats)
  const text = JSON.stringify(format.bodyOf(failure, { path: request.path, requestId }))
  if (isEventStream(response) && !response.destroyed) return void response.end(eventText(text))
  // Half of the answer is sent: only cutting the connection tells the client that it is not whole.
  if (response.headersSent || response.destroyed) return void response.destroy()
  // Do not wait again for a client that was too slow.
  const isDrained = failure.status !== 408 && (await drain(request))
  if (response.destroyed) return
  for (const [name, value] of Object.entries(failure.headers)) response.setHeader(name, value)
  response.statusMessage = STATUS_CODES[failure.status] ?? 'Model Not Found'
  const body = Buffer.from(text)
  startAnswer(response, failure.status, body.length, format.contentType)
  if (isDrained) return void response.end(body)
  response.setHeader('Connection', 'close')
  response.write(body)
  requestContext(response).isAnswered = true
  await linger(request, response)
}
