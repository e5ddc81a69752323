// Receives the body of a request as its route declares: JSON, JSON with rows, or a form with a file.
import type { Request, Response } from 'express'
import { createHash } from 'node:crypto'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../../services/context.ts'
import { ingestRows, type ReceivedRows, type RowsOfFields } from '../../services/datasets/ingest-rows.ts'
import { withForm } from '../../services/files/receive-file.ts'
import type { Idempotency } from '../../services/idempotency.ts'
import type { BodyShare } from './body-memory.ts'
import { drain } from './drain.ts'
import type { JsonBodies } from './json-body.ts'
import { formBoundary, openBody, readBody } from './request-body.ts'
import { inTurns } from './request-turns.ts'
import { clientGone } from './respond.ts'
import type { CallerOf, Route } from './route.ts'
import { requireStorableText, validate } from './validation.ts'

type Incoming = {
  route: Route
  caller: CallerOf[keyof CallerOf]
  request: Request
  response: Response
  json: JsonBodies
  /** Memory for the body, in the name of the caller. */
  memory: BodyShare
  /** Each piece of a streamed body waits for it. */
  turn: () => Promise<void>
}

type ReceivedBody = { body: unknown; rows: RowsOfFields; file: ReceivedRows | null; idempotency: Idempotency }

const mebibyte = 1024 * 1024
const defaultLimitBytes = mebibyte
/** Memory of a body that is streamed to the object store: two parts of 8 MB, and a row of up to 16 MB between chunks. */
const streamedBodyBytes = 32 * mebibyte

/** Rows and files that `handle` does not keep are removed after it. @throws ServiceError */
export async function receiveBody<T>(
  incoming: Incoming,
  handle: (received: ReceivedBody) => Promise<T> | T,
): Promise<T> {
  const { route, request, response, memory, turn } = incoming
  const none = { rows: {}, file: null }
  if (route.rows || route.form) {
    const reserve = (sizeBytes: number) => memory.growTo(Math.min(sizeBytes, streamedBodyBytes))
    const stream = {
      // Only routes for keys take rows and forms.
      ctx: incoming.caller as Ctx,
      idempotencyKey: request.get('idempotency-key'),
      signal: () => clientGone(response),
    }
    if (route.rows) {
      const body = inTurns(openBody(request, route.rows.limitBytes, { reserve }), turn)
      return ingestRows({ ...stream, body, options: route.rows }, async ({ rest, rows, sha256 }) =>
        handle({ ...none, rows, body: await parseBody(rest, incoming), idempotency: idempotencyOf(incoming, sha256) }),
      )
    }
    if (route.form) {
      const boundary = formBoundary(request)
      const body = inTurns(openBody(request, route.form.limitBytes, { reserve, requireType: formBoundary }), turn)
      return withForm({ ...stream, body, boundary }, ({ fields, file, sha256 }) =>
        handle({ ...none, file, body: validateBody(route, fields), idempotency: idempotencyOf(incoming, sha256) }),
      )
    }
  }
  if (route.method === 'get') {
    if (!(await drain(request))) response.setHeader('Connection', 'close')
    return handle({ ...none, body: undefined, idempotency: null })
  }
  const bytes = await readBody(request, route.bodyLimitBytes ?? defaultLimitBytes, { reserve: memory.growTo })
  const body = await parseBody(bytes, incoming)
  return handle({ ...none, body, idempotency: route.idempotent ? idempotencyOf(incoming, bytes) : null })
}

async function parseBody(bytes: Buffer, { route, response, json }: Incoming): Promise<unknown> {
  if (bytes.length === 0) {
    if (route.body) throw invalidInput('', 'Send a JSON body.')
    return undefined
  }
  return validateBody(route, await json.parse(bytes, () => clientGone(response)))
}

function validateBody(route: Route, value: object): unknown {
  if (!route.body) return undefined
  const body = validate(route.body, value)
  requireStorableText(body, { allowsNul: route.allowsNul ?? false })
  return body
}

/** @param body the bytes of the body, or the hash of a streamed one */
function idempotencyOf({ route, request }: Incoming, body: Uint8Array): Idempotency {
  const key = request.get('idempotency-key')
  if (key === undefined) return null
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidInput('Idempotency-Key', 'The Idempotency-Key header must be 1 to 255 visible ASCII characters.')
  const target = `${route.method} ${route.path} ${JSON.stringify(request.params)}\n`
  return { key, requestHash: createHash('sha256').update(target).update(body).digest() }
}
