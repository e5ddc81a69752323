// Measures the product and its baselines in turn, so that other load affects all of them alike.
import { fork } from 'node:child_process'
import { once } from 'node:events'
import { loadavg } from 'node:os'
import { join } from 'node:path'
import { setTimeout as sleep } from 'node:timers/promises'
import { root } from '../tools/paths.mjs'
import type { BaselineUrls } from './baseline.ts'
import { median, quantile } from './stack.ts'

const blocks = 10

export async function startBaseline(databaseUrl: string): Promise<{ urls: BaselineUrls; stop: () => void }> {
  const baseline = fork(join(root, 'bench/baseline.ts'), [databaseUrl])
  const [urls] = (await once(baseline, 'message')) as [BaselineUrls]
  return { urls, stop: () => baseline.disconnect() }
}

export async function fetchJson(url: string, init: RequestInit = {}): Promise<unknown> {
  const response = await fetch(url, init)
  if (!response.ok) throw new Error(`${url}: ${response.status} ${await response.text()}`)
  return response.json()
}

/** Calls once a second until a program answers. @throws if the program ends first, or after three minutes */
export async function untilAnswers(program: string, call: () => Promise<unknown>, ended: Promise<unknown>) {
  let hasEnded = false
  void ended.then(() => (hasEnded = true))
  for (let tries = 1; ; tries++) {
    const error = await call().then(
      () => null,
      (reason: unknown) => reason,
    )
    if (error === null) return
    if (hasEnded || tries === 180) throw new Error(`${program} does not answer`, { cause: error })
    await sleep(1000)
  }
}

type Times<Name extends string> = Record<Name, number[]>

/** Runs everything once per round and returns milliseconds. What returns a number has measured its own. */
export async function inTurn<Name extends string>(
  measured: Record<Name, () => Promise<unknown>>,
  { rounds, warmUps = 50 }: { rounds: number; warmUps?: number },
): Promise<Times<Name>> {
  const names = Object.keys(measured) as Name[]
  const times = Object.fromEntries(names.map((name): [Name, number[]] => [name, []])) as Times<Name>
  const order = (round: number) => (round + warmUps) % names.length
  const loadBefore = loadavg()[0] ?? 0
  for (let round = -warmUps; round < rounds; round++)
    // The order rotates, because whatever follows something heavy is slower.
    for (const name of [...names.slice(order(round)), ...names.slice(0, order(round))]) {
      const startedAt = performance.now()
      const own = await measured[name]()
      if (round >= 0) times[name].push(typeof own === 'number' ? own : performance.now() - startedAt)
    }
  console.log(
    `${rounds} rounds; load of the machine ${loadBefore.toFixed(1)} before, ${loadavg()[0]?.toFixed(1)} after`,
  )
  const width = Math.max(...names.map((name) => name.length))
  for (const name of names)
    console.log(
      `  ${name.padEnd(width)} p50 ${median(times[name]).toFixed(2)} ms  p99 ${quantile(times[name], 0.99).toFixed(2)} ms`,
    )
  return times
}

/** Prints a ratio of medians over all rounds, and its range over tenths of the rounds. */
export function sayRatio<Name extends string>(
  sentence: string,
  times: Times<Name>,
  ratioOf: (medians: Record<Name, number>) => number,
) {
  const names = Object.keys(times) as Name[]
  const at = (from: number, to: number) =>
    ratioOf(
      Object.fromEntries(names.map((name) => [name, median(times[name].slice(from, to))])) as Record<Name, number>,
    )
  const count = Math.min(...names.map((name) => times[name].length))
  const size = Math.floor(count / blocks)
  const ratios = Array.from({ length: blocks }, (_, block) => at(block * size, (block + 1) * size))
  const range = `${Math.min(...ratios).toFixed(2)} to ${Math.max(...ratios).toFixed(2)}`
  console.log(`${sentence}: ${at(0, count).toFixed(2)} (tenths of the rounds: ${range})`)
}
