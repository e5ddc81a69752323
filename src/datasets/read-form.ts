// Reads a multipart/form-data body (RFC 7578) with one file, in constant memory: the file is consumed while it arrives.
import { Busboy } from '@fastify/busboy'
import { once } from 'node:events'
import type { Readable } from 'node:stream'
import { invalidInput } from '../domain/service-error.ts'

type FormFile = { name: string; fileName: string; content: AsyncIterable<Buffer> }

const maxHeaderBytes = 16 * 1024
const maxFieldBytes = 16 * 1024
const maxFields = 32

/**
 * @param receiveFile has to read the whole content
 * @returns the plain fields in the order of the form, once the file is received
 * @throws ServiceError invalid_input, and what `body` or `receiveFile` throws
 */
export async function readForm(
  body: AsyncIterable<Buffer> | Iterable<Buffer>,
  boundary: string,
  receiveFile: (file: FormFile) => Promise<void>,
): Promise<[name: string, value: string][]> {
  const parser = new Busboy({
    headers: { 'content-type': `multipart/form-data; boundary="${boundary.replaceAll(/["\\]/g, String.raw`\$&`)}"` },
    limits: { fieldSize: maxFieldBytes, fields: maxFields, files: 1, headerSize: maxHeaderBytes },
    isPartAFile: (_name, _contentType, fileName) => fileName !== undefined,
    preservePath: true,
  })
  const fields: [string, string][] = []
  let file: { content: Readable; received: Promise<void> } | undefined
  let failure: unknown
  let stopWaiting = () => {}

  function fail(error: unknown) {
    failure ??= error
    stopWaiting()
  }
  parser
    .on('field', (name: string | undefined, value, _isNameCut, isCut) => {
      if (name === undefined) fail(invalidInput('', 'A part of the form has no name.'))
      else if (isCut) fail(invalidInput(name, `${name} must have at most ${maxFieldBytes} bytes.`))
      else fields.push([name, value])
    })
    .on('file', (name: string | undefined, content, fileName) => {
      if (name === undefined) return fail(invalidInput('', 'A part of the form has no name.'))
      // Busboy reports a form that breaks off here as well, perhaps before anybody reads the file.
      content.on('error', () => undefined)
      file = { content, received: receiveFile({ name, fileName: fileName.replaceAll('%22', '"'), content }) }
      file.received.catch(fail)
    })
    .on('fieldsLimit', () => fail(invalidInput('', `The form must have at most ${maxFields} fields.`)))
    .on('filesLimit', () => fail(invalidInput('', 'The form must hold one file only.')))
    .on('error', () => fail(invalidInput('', 'The form ends before its last boundary.')))
  const finished = once(parser, 'finish').then(() => undefined, fail)

  /** Waits while the file's reader is slower than the sender. */
  async function untilDone(step: Promise<unknown>) {
    if (failure === undefined) await Promise.race([step, new Promise<void>((resolve) => (stopWaiting = resolve))])
    if (failure !== undefined) throw failure
  }
  try {
    for await (const chunk of body) await untilDone(new Promise((resolve) => parser.write(chunk, resolve)))
    parser.end()
    await untilDone(finished)
    await file?.received
    return fields
  } catch (error) {
    // The receiver ends before the caller hears of the failure, so that nothing is written after its clean-up.
    file?.content.destroy(error instanceof Error ? error : undefined)
    await file?.received.catch(() => undefined)
    throw error
  }
}
