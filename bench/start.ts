// Time from `start` to ready, with a new data directory and with an existing one.
import { makeHome, median, startStack } from './stack.ts'

const rounds = 3
const targetMs = 8000
const fresh: number[] = []
const again: number[] = []
for (let round = 0; round < rounds; round++) {
  const home = makeHome()
  const first = await startStack(home)
  fresh.push(first.readyMs)
  await first.stop({ keep: true })
  const second = await startStack(home)
  again.push(second.readyMs)
  await second.stop()
}
const say = (name: string, values: number[]) =>
  console.log(
    `${name}: median ${(median(values) / 1000).toFixed(2)} s of ${values.map((ms) => (ms / 1000).toFixed(2)).join(', ')} (${(median(values) / targetMs).toFixed(2)} of the 8 s allowed)`,
  )
say('new data directory ', fresh)
say('same data directory', again)
