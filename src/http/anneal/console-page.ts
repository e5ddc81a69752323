// GET /console: the built console, from memory. Files with a hash in their name never change; every other path under
// /console is a page of the console and gets the HTML of its port: index.html for users, operator.html for operators.
import type { Express, Request, Response } from 'express'
import { createHash } from 'node:crypto'
import { existsSync, readdirSync, readFileSync } from 'node:fs'
import { extname, join } from 'node:path'
import { gzipSync } from 'node:zlib'
import { methodNotAllowed } from '../edge/create-app.ts'
import { HttpError } from '../kit/problem.ts'
import { requestContext } from '../kit/request-context.ts'

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  "style-src 'self'",
  "img-src 'self' data: blob:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const contentTypes: Record<string, string> = {
  '.html': 'text/html; charset=utf-8',
  '.js': 'text/javascript; charset=utf-8',
  '.css': 'text/css; charset=utf-8',
  '.svg': 'image/svg+xml',
  '.txt': 'text/plain; charset=utf-8',
  // Pages of the documentation.
  '.md': 'text/plain; charset=utf-8',
}

type File = { body: Buffer; gzip: Buffer; type: string; etag: string; isImmutable: boolean }

export function mountConsole(
  app: Express,
  dir: string | undefined,
  page: 'index.html' | 'operator.html' = 'index.html',
) {
  const files = dir === undefined ? new Map<string, File>() : readFiles(dir, page)
  const serve = (request: Request, response: Response) => {
    requestContext(response).route = '/console'
    const path = request.path.replace(/^\/console\/?/, '')
    // A file of an older build must not be answered with a page.
    const file = files.get(path) ?? (path.startsWith('assets/') ? undefined : files.get(page))
    if (file) return send(file, request, response)
    throw new HttpError(404, 'not_found', files.size > 0 ? 'The console has no such file.' : notBuilt)
  }
  // The path names no part: Express decodes a named part, and refuses a lone %.
  const path = /^\/console(?:\/.*)?$/
  app.get(path, serve)
  app.all(path, methodNotAllowed('/console', 'GET, HEAD'))
}

const notBuilt = 'The console is not built here. Run `npm run setup`, and start the service again.'

function readFiles(dir: string, page: string): Map<string, File> {
  if (!existsSync(join(dir, page))) return new Map()
  const names = readdirSync(dir, { recursive: true, encoding: 'utf8' }).filter(
    (name) => extname(name) in contentTypes && (extname(name) !== '.html' || name === page),
  )
  return new Map(names.map((name) => [name, readFile(dir, name)]))
}

function readFile(dir: string, name: string): File {
  const body = readFileSync(join(dir, name))
  return {
    body,
    gzip: gzipSync(body, { level: 9 }),
    type: contentTypes[extname(name)] ?? 'application/octet-stream',
    // Weak, because it stands for the gzipped form too.
    etag: `W/"${createHash('sha256').update(body).digest('base64url').slice(0, 22)}"`,
    isImmutable: name.startsWith('assets/'),
  }
}

function send({ body, gzip, type, etag, isImmutable }: File, request: Request, response: Response) {
  const takesGzip = request.acceptsEncodings('gzip') === 'gzip'
  response.vary('Accept-Encoding')
  response.setHeader('Content-Security-Policy', contentSecurityPolicy)
  response.setHeader('Cache-Control', isImmutable ? 'public, max-age=31536000, immutable' : 'no-cache')
  response.setHeader('ETag', etag)
  if (request.headers['if-none-match'] === etag) return void response.status(304).end()
  const bytes = takesGzip ? gzip : body
  response.setHeader('Content-Type', type)
  if (takesGzip) response.setHeader('Content-Encoding', 'gzip')
  response.setHeader('Content-Length', bytes.length)
  response.end(bytes)
}
