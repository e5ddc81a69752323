// The attacker's process: runs one attack as its parent orders it, and sends back what the attacker was answered.
// It ends by itself when the attack is done, when its time is over, and when the parent says so or is gone.
import { setMaxListeners } from 'node:events'
import { createAsk, type Ask } from './accounts.ts'
import type { AttackOrder, AttackReport } from './attack-process.ts'
import { findAttack } from './attacks.ts'
import { measureShare } from './processor-share.ts'
import { createTally } from './tally.ts'

const stop = new AbortController()

process.once('message', (order: AttackOrder) => {
  process.on('message', () => stop.abort())
  void run(order)
})
process.once('disconnect', () => process.exit(1))

async function run({ name, seconds, ...order }: AttackOrder) {
  const tally = createTally()
  const signal = AbortSignal.any([stop.signal, AbortSignal.timeout(seconds * 1000)])
  // Each connection listens.
  setMaxListeners(0, signal)
  signal.addEventListener('abort', () => report({ kind: 'over' }))
  const ask = createAsk(order.apiUrl, order.apiKey)
  const countedAsk: Ask = async (method, path, body, askSignal = signal) => {
    const answer = await ask(method, path, body, askSignal)
    tally.count(answer)
    return answer
  }
  const calls = { ...tally, ask: countedAsk, underway: () => report({ kind: 'underway' }) }
  const share = measureShare()
  await findAttack(name).run({ ...order, signal, ...calls })
  const processorShare = share()
  report({ kind: 'ended', record: { ...tally.record(), processorShare } })
  process.disconnect()
}

const report = (message: AttackReport) => process.send?.(message)
