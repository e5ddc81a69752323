// Sends the extreme requests one after the other and finds the longest hold of each.
import { publicRoutes } from '../../../../src/http/app.ts'
import { noAnswer, type Answer } from '../accounts.ts'
import { holdsDuring, type HoldOfProcess } from '../holds/ask.ts'
import type { Asker, Extreme, Sent, Stock } from './extreme.ts'
import { extremes } from './table.ts'

/** Milliseconds of processor time that one turn of an event loop may take. */
const longestHoldMs = 50

type Measured = { route: string; what: string; answer: Answer; holds: HoldOfProcess[] }

/** @param routes their names; none means all */
export async function* measureAll(
  asker: Asker,
  stock: Stock,
  routes: readonly string[] = [],
): AsyncGenerator<Measured> {
  const unknown = routes.filter((name) => !(name in extremes))
  if (unknown.length > 0) throw new Error(`No extreme request is known of ${unknown.join(', ')}.`)
  for (const { name: route, method, path } of publicRoutes)
    for (const extreme of extremes[route] ?? []) {
      if (routes.length > 0 && !routes.includes(route)) continue
      if (asker.signal.aborted) return
      const once = () => measure({ asker, stock, extreme, method: method.toUpperCase(), path })
      const first = await once()
      // A collection of garbage may fall into any request: a hold counts when it comes again.
      const again = isLong(first) ? await once() : first
      yield { route, what: extreme.what, ...(isLong(again) ? first : again) }
    }
}

export const isLong = ({ holds }: Pick<Measured, 'holds'>) => holds.some(({ ms }) => ms > longestHoldMs)

/** With the functions of long holds. */
export function sentenceOf({ route, what, answer, holds }: Measured): string {
  const shown = holds.map(({ process, ms, functions }) => {
    const culprits = ms > longestHoldMs ? ` (${functions.join(', ')})` : ''
    return `${process} ${Math.round(ms)} ms${culprits}`
  })
  return `${route}, ${what}: ${answer.status || answer.code}, ${shown.join(', ')}`
}

type Asked = { asker: Asker; stock: Stock; extreme: Extreme; method: string; path: string }

async function measure({ asker, stock, extreme, method, path }: Asked): Promise<Pick<Measured, 'answer' | 'holds'>> {
  const sent = await extreme.sent(stock, asker)
  let answer = noAnswer('not_sent')
  const holds = await holdsDuring(stock.homeDir, async () => {
    answer = await asker.send(method, pathOf(path, sent), sent)
    if (answer.status === 200) await extreme.settle?.(answer, asker)
  })
  return { answer, holds }
}

const pathOf = (path: string, { params = {} }: Sent) =>
  path.replaceAll(/:(\w+)/g, (_, name: string) => encodeURIComponent(String(params[name] ?? '')))
