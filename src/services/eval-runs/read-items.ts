// The items of a run as JSON Lines: in the request, or in a file. `src/grading/run-items.ts` reads them in a thread.
import { setImmediate as others } from 'node:timers/promises'
import { evalRunLimits, type EvalItem } from '../../domain/eval-run.ts'
import { isLargeJson, jsonPieces } from '../../json-pieces.ts'
import { collect } from '../../collect.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { findFile } from '../files/find-file.ts'
import { readFile } from '../files/read-file.ts'

export type ItemSource = { content: EvalItem[] } | { fileId: string }

const field = 'data_source.source'
/** Lets other requests in between: this takes some milliseconds. */
const pieceCharacters = 512 * 1024

/** @throws ServiceError invalid_input */
export async function readItems(ctx: Ctx, source: ItemSource): Promise<{ lines: Uint8Array; isFile: boolean }> {
  if ('fileId' in source) return { lines: await inByteTurn(ctx, () => linesOfFile(ctx, source.fileId)), isFile: true }
  return { lines: await linesOf(source.content), isFile: false }
}

async function linesOf(items: readonly EvalItem[]): Promise<Uint8Array> {
  const pieces: Buffer[] = []
  let piece = ''
  for (const item of items) {
    // It is refused, but where all items are read.
    if (isLargeJson(item)) for await (const part of jsonPieces(item)) pieces.push(Buffer.from(part))
    else piece += JSON.stringify(item)
    piece += '\n'
    if (piece.length < pieceCharacters) continue
    pieces.push(Buffer.from(piece))
    piece = ''
    await others()
  }
  const lines = Buffer.concat([...pieces, Buffer.from(piece)])
  // Joining them is one copy, and handing them to a thread is another.
  await others()
  return lines
}

async function linesOfFile(ctx: Ctx, fileId: string): Promise<Uint8Array> {
  const { sizeBytes } = await findFile({ ctx, input: { fileId } }).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    throw wrong('there is no such file.')
  })
  if (sizeBytes > evalRunLimits.bytes) throw wrong(`the file has more than ${evalRunLimits.bytes} bytes. Split it.`)
  const { bytes } = await readFile({ ctx, input: { fileId } })
  return collect(bytes)
}

const wrong = (reason: string) => invalidInput(field, `The items of ${field} cannot be used: ${reason}`)
