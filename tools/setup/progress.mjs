// How set-up talks while it works: a line for each thing that happens and, for each step that takes long, a bar on a
// terminal or a line every 15 s elsewhere.
import { duration } from './report.mjs'

const lineEveryMs = 15_000
const redrawEveryMs = 500
const barWidth = 24

/** @type {Map<string, {startedAt: number, total: number, unit: Unit, done: () => number}>} */
const running = new Map()
let drawnLines = 0
let timer

/** @typedef {'bytes' | 'packages'} Unit */

export function say(step, text) {
  erase()
  console.log(`[${step}] ${text}`)
  draw()
}

/**
 * Shows how far a step is until the returned function is called.
 * @param {string} step
 * @param {{total: number, unit: Unit, done: () => number}} measure `total` is an estimate; 0 when there is none
 */
export function showProgress(step, measure) {
  running.set(step, { startedAt: performance.now(), ...measure })
  timer ??= process.stdout.isTTY ? setInterval(redraw, redrawEveryMs) : setInterval(sayEach, lineEveryMs)
  return () => {
    erase()
    running.delete(step)
    draw()
    if (running.size > 0) return
    clearInterval(timer)
    timer = undefined
  }
}

function redraw() {
  erase()
  draw()
}

function draw() {
  if (!process.stdout.isTTY) return
  for (const [step, entry] of running)
    process.stdout.write(`${bar(step, entry).slice(0, process.stdout.columns || 80)}\n`)
  drawnLines = running.size
}

function erase() {
  if (drawnLines > 0) process.stdout.write(`\x1b[${drawnLines}A\x1b[J`)
  drawnLines = 0
}

function sayEach() {
  for (const [step, entry] of running) console.log(`[${step}] ${describe(entry)}`)
}

function bar(step, entry) {
  const share = shareDone(entry) ?? 0
  const filled = Math.round(share * barWidth)
  return `[${step}] ${'█'.repeat(filled)}${'░'.repeat(barWidth - filled)} ${describe(entry)}`
}

function describe(entry) {
  const elapsedMs = performance.now() - entry.startedAt
  const share = shareDone(entry)
  if (share === null) return `at it for ${duration(elapsedMs)}`
  const amount = `${format(entry.done(), entry.unit)} of about ${format(entry.total, entry.unit)} ${entry.unit === 'bytes' ? 'GB' : entry.unit}`
  if (share < 0.02) return amount
  if (share === 1) return `${amount}, nearly done`
  return `${amount}, about ${duration((elapsedMs * (1 - share)) / share)} left`
}

function shareDone({ total, done }) {
  const amount = done()
  return total > 0 && amount > 0 ? Math.min(1, amount / total) : null
}

function format(amount, unit) {
  return unit === 'bytes' ? (amount / 1e9).toFixed(1) : String(amount)
}
