// GET /docs: Swagger UI for /openapi.json, served from our own packages. The browser may load nothing from other hosts.
import type { Express, Request, Response } from 'express'
import { dirname } from 'node:path'
import { fileURLToPath } from 'node:url'
import { methodNotAllowed } from '../edge/create-app.ts'
import { requestContext } from '../kit/request-context.ts'

const swaggerUiDir = dirname(fileURLToPath(import.meta.resolve('swagger-ui-dist/package.json')))
const packaged = ['swagger-ui.css', 'swagger-ui-bundle.js', 'favicon-32x32.png']

const contentSecurityPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets style attributes.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

const page = `<!doctype html>
<html lang="en">
  <head>
    <meta charset="utf-8" />
    <meta name="viewport" content="width=device-width, initial-scale=1" />
    <title>Anneal API</title>
    <link rel="icon" type="image/png" href="/docs/favicon-32x32.png" />
    <link rel="stylesheet" href="/docs/swagger-ui.css" />
  </head>
  <body>
    <div id="docs"></div>
    <script src="/docs/swagger-ui-bundle.js"></script>
    <script src="/docs/start.js"></script>
  </body>
</html>
`

/**
 * Without `validatorUrl: null`, Swagger UI sends the address of this service to a public validator. Of a document with 114 paths or
 * more Swagger UI 5 shows a part, so the aliases, which say nothing new, are left out.
 */
const start = `function withoutAliases(response) {
  if (!response.url.endsWith('/openapi.json')) return response
  const document = JSON.parse(response.text)
  for (const [path, operations] of Object.entries(document.paths)) {
    for (const [method, { deprecated }] of Object.entries(operations)) if (deprecated) delete operations[method]
    if (Object.keys(operations).length === 0) delete document.paths[path]
  }
  return { ...response, text: JSON.stringify(document) }
}
SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#docs',
  deepLinking: true,
  validatorUrl: null,
  responseInterceptor: withoutAliases,
})
`

export function mountDocs(app: Express) {
  const parts: Record<string, (response: Response) => unknown> = {
    '/docs': (response) => response.type('html').send(page),
    '/docs/start.js': (response) => response.type('js').send(start),
  }
  for (const file of packaged)
    parts[`/docs/${file}`] = (response) => response.sendFile(file, { root: swaggerUiDir, cacheControl: false })
  for (const [path, send] of Object.entries(parts)) {
    app.get(path, serve(send))
    app.all(path, methodNotAllowed('/docs', 'GET, HEAD'))
  }
}

function serve(send: (response: Response) => unknown) {
  return (_request: Request, response: Response) => {
    requestContext(response).route = '/docs'
    response.setHeader('Content-Security-Policy', contentSecurityPolicy)
    send(response)
  }
}
