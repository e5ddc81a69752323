// Uploads the file of a form to the object store while it arrives. The file belongs to no data set until a service keeps it.
import { createHash, type Hash } from 'node:crypto'
import { readForm } from '../../datasets/read-form.ts'
import { invalidInput } from '../../domain/service-error.ts'
import type { Ctx } from '../context.ts'
import { requireRoomForData } from '../limits/account-quotas.ts'
import { discardRows, openRows, type ReceivedRows } from '../datasets/ingest-rows.ts'

type ReceivedForm = {
  /** The plain fields, and the name of the file in its own field. */
  fields: Record<string, string>
  file: ReceivedRows | null
  /** Hash of the fields and the file, the same for every boundary. */
  sha256: Uint8Array
}

type FormInput = {
  ctx: Ctx
  body: AsyncIterable<Buffer> | Iterable<Buffer>
  boundary: string
  idempotencyKey: string | undefined
  signal: () => AbortSignal
}

const maxNameLength = 100

/** Receives a form with one file, calls `use`, and removes the file unless `use` has kept it. @throws ServiceError */
export async function withForm<T>(input: FormInput, use: (form: ReceivedForm) => Promise<T> | T): Promise<T> {
  const form: ReceivedForm = { fields: {}, file: null, sha256: new Uint8Array() }
  try {
    await receive(input, form)
    return await use(form)
  } finally {
    if (form.file?.kept === 'no') await discardRows(input.ctx, form.file)
  }
}

async function receive({ ctx, body, boundary, idempotencyKey, signal }: FormInput, form: ReceivedForm) {
  const fileHash = createHash('sha256')
  let uploaded: [name: string, fileName: string][] = []
  const fields = await readForm(body, boundary, async ({ name, fileName, content }) => {
    await requireRoomForData(ctx, idempotencyKey)
    form.file = await openRows(ctx)
    form.file.sizeBytes = await ctx.deps.storage.writeStream(form.file.key, hashed(content, fileHash), signal())
    uploaded = [[name, fileName]]
  })
  for (const [name, value] of [...fields, ...uploaded]) setField(form, name.slice(0, maxNameLength), value)
  form.sha256 = createHash('sha256')
    .update(JSON.stringify([fields, uploaded]))
    .update(fileHash.digest())
    .digest()
}

/** Defines even `__proto__` as a plain field, so that the schema refuses it. */
function setField({ fields }: ReceivedForm, name: string, value: string) {
  if (Object.hasOwn(fields, name)) throw invalidInput(name, `${name} must be given only once.`)
  Object.defineProperty(fields, name, { value, enumerable: true, configurable: true, writable: true })
}

async function* hashed(content: AsyncIterable<Buffer>, hash: Hash) {
  for await (const piece of content) {
    hash.update(piece)
    yield piece
  }
}
