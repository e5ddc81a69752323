// The frame around every request: its id, its headers, its measurement, and the problem it may end with.
import type { Request, Response } from 'express'
import { randomUUID } from 'node:crypto'
import { STATUS_CODES } from 'node:http'
import { performance } from 'node:perf_hooks'
import type { Log } from '../../log.ts'
import { drain, linger } from './drain.ts'
import type { Metrics } from './metrics.ts'
import { errorFormatFor, describeError, type ErrorFormat } from './problem.ts'
import { eventText, isEventStream, startJson } from './respond.ts'
import { securityHeaders } from './security-headers.ts'

export type RequestContextOptions = {
  edge: 'public' | 'internal'
  log: Log
  metrics: Metrics
  /** Other forms of refusals than RFC 9457's. */
  errorFormats?: readonly ErrorFormat[]
}

type Locals = { requestId: string; route: string; isAnswered?: boolean }

export const locals = (response: Response) => response.locals as Locals

export function openRequestContext({ edge, log, metrics }: RequestContextOptions) {
  const headers = securityHeaders()
  return (request: Request, response: Response, next: () => void) => {
    const startedAt = performance.now()
    const given = request.headers['x-request-id']
    const requestId = typeof given === 'string' && /^[\w.-]{1,64}$/.test(given) ? given : randomUUID()
    response.locals = { requestId, route: 'unmatched' } satisfies Locals
    response.setHeaders(headers)
    response.setHeader('X-Request-Id', requestId)
    response.once('close', () => {
      const { route, isAnswered } = locals(response)
      // As nginx counts a client that left early.
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
  const { requestId, route } = locals(response)
  const refusal = describeError(error, request)
  // Someone who left aborts his own work; that is no failure.
  const level = refusal.status === 503 ? 'warn' : 'error'
  if (refusal.isOurs && !response.destroyed)
    log[level]({ err: error, requestId, route, status: refusal.status }, 'request failed')
  const form = errorFormatFor(request.path, errorFormats)
  const text = JSON.stringify(form.bodyOf(refusal, { path: request.path, requestId }))
  if (isEventStream(response) && !response.destroyed) return void response.end(eventText(text))
  // Half an answer is out: only a cut tells the client.
  if (response.headersSent || response.destroyed) return void response.destroy()
  // Who was too slow already need not be waited for again.
  const isDrained = refusal.status !== 408 && (await drain(request))
  if (response.destroyed) return
  for (const [name, value] of Object.entries(refusal.headers)) response.setHeader(name, value)
  response.statusMessage = STATUS_CODES[refusal.status] ?? 'Model Not Found'
  const body = Buffer.from(text)
  startJson(response, refusal.status, body.length, form.contentType)
  if (isDrained) return void response.end(body)
  response.setHeader('Connection', 'close')
  response.write(body)
  locals(response).isAnswered = true
  await linger(request, response)
}
