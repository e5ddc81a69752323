// The items of a run: in the request, or in a file of JSON Lines.
import { evalRunLimits, type EvalItem } from '../../domain/eval-run.ts'
import { createJsonCount, tooDeep } from '../../domain/json-bounds.ts'
import { invalidInput, ServiceError } from '../../domain/service-error.ts'
import { inByteTurn } from '../byte-turns.ts'
import type { Ctx } from '../context.ts'
import { findFile } from '../files/find-file.ts'
import { readFile } from '../files/read-file.ts'

export type ItemSource = { content: EvalItem[] } | { fileId: string }

const field = 'data_source.source'
/** An item whose characters are all escaped fits. */
const maxLineCharacters = 8 * evalRunLimits.itemCharacters

/** @throws ServiceError invalid_input naming the item or the line, not_found */
export async function readItems(ctx: Ctx, source: ItemSource): Promise<EvalItem[]> {
  const items = 'content' in source ? source.content : await inByteTurn(ctx, () => itemsOfFile(ctx, source.fileId))
  if (items.length === 0) throw wrong('it has no item.')
  if (items.length > evalRunLimits.items) throw wrong(`it has more than ${evalRunLimits.items} items. Split it.`)
  const long = items.findIndex((item) => JSON.stringify(item).length > evalRunLimits.itemCharacters)
  if (long >= 0) throw wrong(`item ${long} has more than ${evalRunLimits.itemCharacters} characters of JSON.`)
  return items
}

async function itemsOfFile(ctx: Ctx, fileId: string): Promise<EvalItem[]> {
  const { sizeBytes } = await findFile({ ctx, input: { fileId } }).catch((error: unknown) => {
    if (!(error instanceof ServiceError) || error.code !== 'not_found') throw error
    throw wrong('there is no such file.')
  })
  if (sizeBytes > evalRunLimits.bytes) throw wrong(`the file has more than ${evalRunLimits.bytes} bytes. Split it.`)
  const { bytes } = await readFile({ ctx, input: { fileId } })
  const items: EvalItem[] = []
  const count = createJsonCount()
  let number = 0
  for await (const line of linesOf(bytes)) {
    number++
    if (line.trim() === '') continue
    const excess = count(line)
    if (excess === tooDeep) throw wrong(`line ${number} ${excess}.`)
    if (excess !== null) throw wrong(`the file ${excess} up to line ${number}. Split it.`)
    items.push(itemOf(line, number))
    if (items.length > evalRunLimits.items) break
  }
  return items
}

/** Yields to other requests with each piece of the file. */
async function* linesOf(bytes: AsyncIterable<Buffer>): AsyncGenerator<string> {
  const decoder = new TextDecoder('utf-8', { fatal: true })
  let rest = ''
  try {
    for await (const piece of bytes) {
      const lines = (rest + decoder.decode(piece, { stream: true })).split('\n')
      rest = lines.pop() ?? ''
      yield* lines
      if (rest.length > maxLineCharacters) throw wrong(`a line has more than ${maxLineCharacters} characters.`)
    }
    yield rest + decoder.decode()
  } catch (error) {
    throw error instanceof TypeError ? wrong('the file is not UTF-8.') : error
  }
}

function itemOf(line: string, number: number): EvalItem {
  const value = parsed(line)
  if (!isObject(value) || !isObject(value['item'])) throw wrong(`line ${number} is not an object {"item": {…}}.`)
  const sample = value['sample']
  if (sample !== undefined && !isObject(sample)) throw wrong(`line ${number} has a sample that is not an object.`)
  if (line.includes(String.raw`\u0000`)) throw wrong(`line ${number} contains a NUL character.`)
  return { item: value['item'], ...(sample && { sample }) }
}

function parsed(line: string): unknown {
  try {
    return JSON.parse(line)
  } catch {
    return undefined
  }
}

const isObject = (value: unknown): value is Record<string, unknown> =>
  typeof value === 'object' && value !== null && !Array.isArray(value)

const wrong = (reason: string) => invalidInput(field, `The items of ${field} cannot be used: ${reason}`)
