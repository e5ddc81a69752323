// Receives the body of a request as its route declares: JSON, JSON with rows, or a form with a file.
import type { Request, Response } from 'express'
import { createHash, type Hash } from 'node:crypto'
import { setImmediate as nextTurn } from 'node:timers/promises'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../../services/context.ts'
import { ingestRows, type ReceivedRows, type RowsOfFields } from '../../services/datasets/ingest-rows.ts'
import { withForm } from '../../services/files/receive-file.ts'
import type { Idempotency } from '../../services/idempotency.ts'
import { boundsOf } from '../kit/body-bounds.ts'
import type { BodyShare } from './body-memory.ts'
import { drain } from '../kit/drain.ts'
import { withoutEmpty } from '../kit/empty-fields.ts'
import type { JsonBodies, ParsedBody } from '../kit/json-body.ts'
import { formBoundary, openBody, readBody } from '../kit/request-body.ts'
import { inTurns } from '../../turns.ts'
import { clientGone } from '../kit/respond.ts'
import type { CallerOf, Route } from '../kit/route.ts'
import { unknownFieldsNote } from '../kit/unknown-fields.ts'
import { requireStorableText, validate } from '../kit/validation.ts'

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

type CheckedBody = {
  body: unknown
  /** Tells the fields without effect; null when there are none. */
  note: string | null
}
export type ReceivedBody = CheckedBody & { rows: RowsOfFields; file: ReceivedRows | null; idempotency: Idempotency }

const mebibyte = 1024 * 1024
const defaultLimitBytes = mebibyte
/** Memory of a body that is streamed to the object store: two parts of 8 MB, and a row of up to 16 MB between chunks. */
const streamedBodyBytes = 32 * mebibyte

const none = { rows: {}, file: null }
const noBody: CheckedBody = { body: undefined, note: null }

/** @throws ServiceError */
export async function receiveJson(incoming: Incoming): Promise<ReceivedBody> {
  const { route, request, response, memory } = incoming
  if (route.method === 'get') {
    if (!(await drain(request))) response.setHeader('Connection', 'close')
    return { ...none, ...noBody, idempotency: null }
  }
  const hash = route.idempotent && request.get('idempotency-key') !== undefined ? beginHash(incoming) : null
  const options = { reserve: memory.growTo, hash }
  const limitBytes = route.bodyLimitBytes ?? defaultLimitBytes
  const checked = await parseBody(await readBody(request, limitBytes, options), limitBytes, incoming)
  return { ...none, ...checked, idempotency: hash && keyed(incoming, hash) }
}

/** Rows and files that `handle` does not keep are removed after it. @throws ServiceError */
export async function receiveStream<T>(
  incoming: Incoming,
  handle: (received: ReceivedBody) => Promise<T> | T,
): Promise<T> {
  const { route, request, response, memory, turn } = incoming
  const reserve = (sizeBytes: number) => memory.growTo(Math.min(sizeBytes, streamedBodyBytes))
  const stream = {
    // Only routes for keys take rows and forms.
    ctx: incoming.caller as Ctx,
    idempotencyKey: request.get('idempotency-key'),
    signal: () => clientGone(response),
  }
  if (route.rows) {
    const { rows: options } = route
    const body = inTurns(openBody(request, options.limitBytes, { reserve }), turn)
    const checkRow = (bytes: Buffer, path: string) => incoming.json.checkRow(bytes, path, stream.signal)
    return ingestRows({ ...stream, body, options, checkRow }, async ({ rest, rows, sha256 }) =>
      handle({
        ...none,
        ...(await parseBody(rest, options.restLimitBytes, incoming)),
        rows,
        idempotency: idempotencyOf(incoming, sha256),
      }),
    )
  }
  if (!route.form) throw new Error(`${route.name} takes no rows and no form.`)
  const boundary = formBoundary(request)
  const body = inTurns(openBody(request, route.form.limitBytes, { reserve, requireType: formBoundary }), turn)
  return withForm({ ...stream, body, boundary }, async ({ fields, file, sha256 }) =>
    handle({
      ...none,
      ...(await checkBody(route, { value: fields, holdsMany: false })),
      file,
      idempotency: idempotencyOf(incoming, sha256),
    }),
  )
}

async function parseBody(bytes: Buffer, limitBytes: number, { route, response, json }: Incoming): Promise<CheckedBody> {
  if (bytes.length === 0) {
    if (route.body) throw invalidInput('', 'Send a JSON body.')
    return noBody
  }
  // Our own runtime is trusted; the schemas of its routes bound the bodies.
  const bounds = route.access === 'pod' ? {} : boundsOf(limitBytes)
  return checkBody(route, await json.parse(bytes, bounds, () => clientGone(response)))
}

async function checkBody(route: Route, { value, holdsMany }: ParsedBody): Promise<CheckedBody> {
  if (!route.body) return noBody
  const left = withoutEmpty(route.body, value)
  if (holdsMany) await nextTurn()
  const body = validate(route.body, left, { firstProblemOnly: holdsMany })
  if (holdsMany) await nextTurn()
  await requireStorableText(body, { allowsNul: route.allowsNul ?? false })
  return { body, note: unknownFieldsNote(route, value) }
}

/** @param sha256 of a streamed body */
const idempotencyOf = (incoming: Incoming, sha256: Uint8Array) => keyed(incoming, beginHash(incoming).update(sha256))

/** The hash of a request; its body is added. */
const beginHash = ({ route, request }: Incoming): Hash =>
  createHash('sha256').update(`${route.method} ${route.path} ${JSON.stringify(request.params)}\n`)

function keyed({ request }: Incoming, hash: Hash): Idempotency {
  const key = request.get('idempotency-key')
  if (key === undefined) return null
  if (!/^[\x21-\x7e]{1,255}$/.test(key))
    throw invalidInput('Idempotency-Key', 'The Idempotency-Key header must be 1 to 255 visible ASCII characters.')
  return { key, requestHash: hash.digest() }
}
