import { createAsk, openAccount } from '../accounts.ts'
import type { Attack, Attacker } from '../attack.ts'
import { scopes } from '../../../../src/domain/scopes.ts'
import { holdSettings } from '../holds/ask.ts'
import { readiness } from '../probes.ts'
import { isLong, measureAll, sentenceOf } from '../single-requests/measure.ts'
import type { Stock } from '../single-requests/extreme.ts'
import { createSend } from '../single-requests/send.ts'
import { makeStock } from '../single-requests/stock.ts'

export const singleRequests: Attack = {
  name: 'single-requests',
  what: 'the largest requests that each route takes, one after the other: none may hold an event loop for more than 50 ms',
  settings: { ...holdSettings, ANNEAL_MAX_STORED_BYTES: '100000000000' },
  // What one request holds is measured in the processes themselves.
  maxRatio: Infinity,
  seconds: 3600,
  async prepare(stage) {
    const account = await openAccount(stage.connection, 'single requests', scopes)
    return { keys: [account.apiKey], stock: [JSON.stringify(await makeStock(stage, account))] }
  },
  probes: (stage) => [readiness(stage)],
  async run({ apiUrl, baseModel, prepared, parts, signal, count, underway, found }: Attacker) {
    const apiKey = prepared['keys']?.[0] ?? ''
    const stock = JSON.parse(prepared['stock']?.[0] ?? '{}') as Stock
    const asker = { baseModel, ask: createAsk(apiUrl, apiKey), send: createSend(apiUrl, apiKey), signal }
    underway()
    for await (const measured of measureAll(asker, stock, parts)) {
      count(measured.answer)
      console.error(`  ${sentenceOf(measured)}`)
      if (isLong(measured)) found(sentenceOf(measured))
    }
  },
}
