// A file inside a form goes to the object store while it arrives, and belongs to a data set once somebody keeps it.
import { createHash } from 'node:crypto'
import { formParts, type FormPart } from '../../datasets/form-parts.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'
import { discardRows, openRows, type ReceivedRows } from '../datasets/ingest-rows.ts'

type ReceivedForm = {
  /** The plain fields, and the name of the file in its own field. */
  fields: Record<string, string>
  file: ReceivedRows | null
  /** Of what the form says, whatever its boundary is. */
  sha256: Uint8Array
}

type FormInput = {
  ctx: Ctx
  body: AsyncIterable<Buffer> | Iterable<Buffer>
  boundary: string
  idempotencyKey: string | undefined
  signal: () => AbortSignal
}

const mostFieldBytes = 16 * 1024
const mostFields = 32
const longestName = 100

/** Receives a form with one file for `use`, and removes the file again unless it keeps it. @throws ServiceError */
export async function withForm<T>(input: FormInput, use: (form: ReceivedForm) => Promise<T> | T): Promise<T> {
  const form: ReceivedForm = { fields: {}, file: null, sha256: new Uint8Array() }
  try {
    await receive(input, form)
    return await use(form)
  } finally {
    if (form.file && !form.file.isKept) await discardRows(input.ctx, form.file)
  }
}

async function receive({ ctx, body, boundary, idempotencyKey, signal }: FormInput, form: ReceivedForm) {
  const hash = createHash('sha256')
  const names = new Set<string>()
  for await (const part of formParts(body, boundary)) {
    const name = part.name.slice(0, longestName)
    if (names.has(name) || names.size === mostFields) throw invalidInput(name, `${name} must be given only once.`)
    names.add(name)
    hash.update(JSON.stringify([name, part.fileName]))
    const content = hashed(part, hash)
    if (part.fileName === null) {
      setField(form, name, await readField(name, content))
      continue
    }
    if (form.file) throw invalidInput(name, 'The form must hold one file only.')
    await requireRoomForData(ctx, idempotencyKey)
    form.file = await openRows(ctx)
    form.file.sizeBytes = await ctx.deps.storage.writeStream(form.file.key, content, signal())
    setField(form, name, part.fileName)
  }
  form.sha256 = hash.digest()
}

/** Whatever the name: __proto__ becomes a field as well, to be refused. */
function setField({ fields }: ReceivedForm, name: string, value: string) {
  Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
}

async function* hashed({ content }: FormPart, hash: ReturnType<typeof createHash>) {
  for await (const piece of content) {
    hash.update(piece)
    yield piece
  }
}

async function readField(name: string, content: AsyncIterable<Buffer>): Promise<string> {
  const pieces: Buffer[] = []
  let sizeBytes = 0
  for await (const piece of content) {
    sizeBytes += piece.length
    if (sizeBytes > mostFieldBytes) throw invalidInput(name, `${name} is too long.`)
    pieces.push(piece)
  }
  return Buffer.concat(pieces).toString()
}
