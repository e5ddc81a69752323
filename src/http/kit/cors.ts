// Cross-origin requests from browsers. Keys travel in a header that the page sets itself, so cookies and other credentials
// are never allowed.
import type { Request, Response } from 'express'
import { warningHeader } from './route.ts'

const preflightSeconds = 600

/** Answers the preflights of these origins, without a key, and lets their pages read the answers. */
export function allowOrigins(origins: readonly string[]) {
  return (request: Request, response: Response, next: () => void) => {
    response.vary('Origin')
    const { origin } = request.headers
    if (origin === undefined || !origins.includes(origin)) return next()
    response.setHeader('Access-Control-Allow-Origin', origin)
    response.setHeader('Access-Control-Expose-Headers', `ETag, Link, Retry-After, X-Request-Id, ${warningHeader}`)
    if (request.method !== 'OPTIONS' || request.headers['access-control-request-method'] === undefined) return next()
    response.setHeader('Access-Control-Allow-Methods', 'GET, POST, PUT, DELETE')
    const headers = request.headers['access-control-request-headers']
    if (headers !== undefined) response.setHeader('Access-Control-Allow-Headers', headers)
    response.setHeader('Access-Control-Max-Age', preflightSeconds)
    response.status(204).end()
  }
}
