// Limits how much of a model's work this process accepts, and how much of it the engines get at once. Each api process has
// limits of its own.
import { ServiceError } from '../domain/service-error.ts'
import { abortable } from './abortable.ts'

type Place = { rows: number; start: () => void }
type Line = { prompts: number; requests: number; running: number; waiting: Set<Place> }
type Turn = { baseModel: string; rows: number; maxRows: number }

/** Room for ten of the largest requests, or for many small ones. */
const maxPrompts = 100_000
const maxRequests = 2000
/** A call this small may exceed the limit by this share, so that large requests leave room for it. */
const smallRows = 4
const smallShare = 1.25
const retryAfterSeconds = 5

export type Queue = ReturnType<typeof createQueue>

export function createQueue(limits = { prompts: maxPrompts, requests: maxRequests }) {
  const lines = new Map<string, Line>()

  return {
    /** Rows of each model that has requests under way: those that wait for a turn, and those at the engines. */
    *measure(): Generator<[baseModel: string, waiting: number, running: number]> {
      for (const [baseModel, { waiting, running }] of lines)
        yield [baseModel, [...waiting].reduce((sum, { rows }) => sum + rows, 0), running]
    },

    /** Accepts or refuses a whole request. The calls of an accepted one wait as long as they must. @throws ServiceError unavailable */
    async accept<T>(baseModel: string, prompts: number, work: () => Promise<T>): Promise<T> {
      const line = lines.get(baseModel) ?? { prompts: 0, requests: 0, running: 0, waiting: new Set() }
      const isFull = line.prompts + prompts > limits.prompts || line.requests >= limits.requests
      // A request above the limit is accepted when the queue is empty.
      if (isFull && line.requests > 0) throw tooMuch(baseModel)
      lines.set(baseModel, line)
      line.prompts += prompts
      line.requests += 1
      try {
        return await work()
      } finally {
        line.prompts -= prompts
        line.requests -= 1
        if (line.requests === 0) lines.delete(baseModel)
      }
    },

    /** Runs one call of an accepted request once at most `maxRows` rows are under way, its own included. First come, first served. */
    async inTurn<T>(turn: Turn, signal: AbortSignal, call: () => Promise<T>): Promise<T> {
      const line = lines.get(turn.baseModel)
      if (!line) throw new Error(`No request of ${turn.baseModel} has been accepted.`)
      await takeTurn(line, turn, signal)
      try {
        return await call()
      } finally {
        endTurn(line, turn)
      }
    },
  }
}

async function takeTurn(line: Line, turn: Turn, signal: AbortSignal) {
  const { rows, maxRows } = turn
  const isFirst = line.waiting.size === 0 || rows <= smallRows
  if (isFirst && hasRoom(line, rows, maxRows)) {
    line.running += rows
    return
  }
  const { promise, resolve } = Promise.withResolvers<void>()
  const start = () => {
    line.waiting.delete(place)
    line.running += rows
    resolve()
  }
  const place = { rows, start }
  line.waiting.add(place)
  try {
    await abortable(promise, signal)
  } catch (error) {
    // The caller left just now: its turn goes to the next.
    if (!line.waiting.delete(place)) endTurn(line, turn)
    throw error
  }
}

function endTurn(line: Line, { rows, maxRows }: Turn) {
  line.running -= rows
  for (const next of line.waiting) {
    if (!hasRoom(line, next.rows, maxRows)) break
    next.start()
  }
}

const hasRoom = ({ running }: Line, rows: number, maxRows: number) =>
  running === 0 || running + rows <= maxRows * (rows <= smallRows ? smallShare : 1)

const tooMuch = (baseModel: string) =>
  new ServiceError('unavailable', `The queue of the model ${baseModel} is full. Try again in a moment.`, {
    retryAfterSeconds,
  })
