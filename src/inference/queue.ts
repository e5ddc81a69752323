// Decides which call to an engine comes next. The calls of a large request wait here, so that accounts take turns by tokens
// (token-counters.ts). The engines get enough calls at once to be always busy. Each api process has a queue of its own.
import { abortable } from './abortable.ts'
import { createAdmission, type AdmissionLimits } from './admission.ts'
import type { Usage } from './meter.ts'
import { begin, createCounter, end, join, leave, nextOf, type TokenCounter } from './token-counters.ts'

/** `tokens` estimates what the call will cost; `maxRows` limits the rows that are with the engines at once, this call's included. */
type Call = { rows: number; tokens: number; maxRows: number }

/** The turns of one accepted request, until it is disposed of. */
export type Turns = Disposable & {
  /** True while a call of the request is with an engine. */
  isRunning: () => boolean
  /** Waits until one call may begin. @throws the signal's reason */
  take: (call: Call, signal: AbortSignal) => Promise<Turn>
}

/** Ends when it is disposed of. A call that was not counted has cost what was expected of it. */
export type Turn = Disposable & { count: (usage: Usage) => void }

type Place = Call & { request: RequestLine; account: AccountLine; isExtra: boolean; start: () => void }
type RequestLine = TokenCounter & { places: Set<Place> }
type AccountLine = TokenCounter & { requests: Set<RequestLine>; extraRows: number }
type ModelLine = { accounts: Map<string, AccountLine>; waitingRows: number; runningRows: number; extraRows: number }

/** Each account may exceed the limit by calls of this many rows in all, so that its single prompts pass its own large calls. */
const smallRows = 4

export type Queue = ReturnType<typeof createQueue>

export function createQueue(limits?: AdmissionLimits) {
  const lines = new Map<string, ModelLine>()
  const admit = createAdmission(limits)

  return {
    /** Rows of each model that has requests under way: those that wait for a turn, and those at the engines. */
    *measure(): Generator<[baseModel: string, waiting: number, running: number]> {
      for (const [baseModel, { waitingRows, runningRows, extraRows }] of lines)
        yield [baseModel, waitingRows, runningRows + extraRows]
    },

    /** Accepts or refuses a whole request. The calls of an accepted one wait as long as they must. @throws as createAdmission's */
    accept({ baseModel, accountId, prompts }: { baseModel: string; accountId: string; prompts: number }): Turns {
      const release = admit(accountId, prompts)
      const line = lines.get(baseModel) ?? { accounts: new Map(), waitingRows: 0, runningRows: 0, extraRows: 0 }
      lines.set(baseModel, line)
      const account = line.accounts.get(accountId) ?? { ...createCounter(), requests: new Set(), extraRows: 0 }
      line.accounts.set(accountId, account)
      const request = { ...createCounter(), places: new Set<Place>() }
      account.requests.add(request)
      return {
        isRunning: () => request.running > 0,
        take: (call, signal) => take(line, { account, request, call, signal }),
        [Symbol.dispose]() {
          release()
          account.requests.delete(request)
          if (account.requests.size === 0) line.accounts.delete(accountId)
          if (line.accounts.size === 0) lines.delete(baseModel)
        },
      }
    },
  }
}

type Waiting = { account: AccountLine; request: RequestLine; call: Call; signal: AbortSignal }

async function take(line: ModelLine, { account, request, call, signal }: Waiting): Promise<Turn> {
  const { promise, resolve } = Promise.withResolvers<void>()
  const place: Place = { ...call, request, account, isExtra: false, start: resolve }
  enqueue(line, place)
  try {
    await abortable(promise, signal)
  } catch (error) {
    // The caller left just now: its turn goes to the next.
    if (request.places.has(place)) dequeue(line, place)
    else endPlace(line, place, 0)
    throw error
  }
  let counted = call.tokens
  return {
    count: ({ promptTokens, completionTokens }) => (counted = promptTokens + completionTokens),
    [Symbol.dispose]: () => endPlace(line, place, counted),
  }
}

function enqueue(line: ModelLine, place: Place) {
  join(place.account, line.accounts.values())
  join(place.request, place.account.requests)
  place.request.places.add(place)
  line.waitingRows += place.rows
  startNext(line)
}

function dequeue(line: ModelLine, place: Place) {
  place.request.places.delete(place)
  leave(place.account)
  leave(place.request)
  line.waitingRows -= place.rows
  startNext(line)
}

function startNext(line: ModelLine) {
  for (;;) {
    const account = nextOf(line.accounts.values())
    const [place] = (account && nextOf(account.requests)?.places) ?? []
    if (!place) return
    if (!hasRoom(line, place)) {
      if (!mayExceed(line, place)) return
      place.isExtra = true
    }
    place.request.places.delete(place)
    begin(place.account, place.tokens)
    begin(place.request, place.tokens)
    line.waitingRows -= place.rows
    countRunning(line, place, place.rows)
    place.start()
  }
}

function endPlace(line: ModelLine, place: Place, counted: number) {
  end(place.account, place.tokens, counted)
  end(place.request, place.tokens, counted)
  countRunning(line, place, -place.rows)
  startNext(line)
}

function countRunning(line: ModelLine, { isExtra, account }: Place, rows: number) {
  if (!isExtra) line.runningRows += rows
  else for (const each of [line, account]) each.extraRows += rows
}

const hasRoom = ({ runningRows }: ModelLine, { rows, maxRows }: Place) =>
  runningRows === 0 || runningRows + rows <= maxRows

/** An account that has nothing with the engines need not wait for room. All extra rows together are limited, too. */
const mayExceed = (line: ModelLine, { account, rows, maxRows }: Place) =>
  (account.running === 0 || account.extraRows + rows <= smallRows) && line.extraRows + rows <= maxRows
