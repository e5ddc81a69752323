// The numbers behind the curves of a job.
import { duration, loss } from './format.ts'

export type Metric = {
  step: number
  loss: number | null
  valid_loss?: number | null
  learning_rate?: number | null
  epoch?: number | null
  tokens_per_second?: number | null
  iter_time?: number | null
  remaining_time?: number | null
  [series: string]: number | null | undefined
}

export type Axis = 'step' | 'epoch' | 'time' | 'tokens'
export const axes: readonly Axis[] = ['step', 'epoch', 'time', 'tokens']

/** As the service tells a metric: the figures that only some methods of training have are in `series`. */
export type ToldMetric = { step: number; series?: Record<string, number> | undefined; [name: string]: unknown }

/** All figures beside each other. */
export const metricOf = ({ series, ...metric }: ToldMetric): Metric => ({ ...series, ...metric }) as Metric

/** A step that an attempt repeats replaces the one that was there. */
export function mergeMetrics(known: readonly Metric[], newer: readonly Metric[]): Metric[] {
  const [first, last] = [newer[0], known.at(-1)]
  if (!first) return [...known]
  if (!last || first.step > last.step) return [...known, ...newer]
  const bySteps = new Map([...known, ...newer].map((metric) => [metric.step, metric]))
  return [...bySteps.values()].toSorted((a, b) => a.step - b.step)
}

/** Seconds of training at each metric: the time of a step counts for the steps since the metric before. */
export const secondsAt = (metrics: readonly Metric[]) => sumsAt(metrics, ({ iter_time: each }) => each ?? 0)

/** Tokens that were trained on until each metric. */
const tokensAt = (metrics: readonly Metric[]) =>
  sumsAt(metrics, ({ iter_time: seconds, tokens_per_second: rate }) => (seconds ?? 0) * (rate ?? 0))

function sumsAt(metrics: readonly Metric[], ofStep: (metric: Metric) => number): number[] {
  let [sum, before] = [0, 0]
  return metrics.map((metric) => {
    sum += (metric.step - before) * ofStep(metric)
    before = metric.step
    return sum
  })
}

export function valuesOn(axis: Axis, metrics: readonly Metric[]): number[] {
  if (axis === 'time') return secondsAt(metrics)
  if (axis === 'tokens') return tokensAt(metrics)
  return metrics.map((metric) => (axis === 'epoch' ? (metric.epoch ?? metric.step) : metric.step))
}

/** The place on the axis at which a training will end; null when that is not known. */
export function plannedEnd(
  axis: Axis,
  metrics: readonly Metric[],
  { steps, secondsLeft }: { steps: number | null; secondsLeft: number | null },
): number | null {
  const last = metrics.at(-1)
  if (!last) return null
  if (axis === 'time') return secondsLeft === null ? null : (secondsAt(metrics).at(-1) ?? 0) + secondsLeft
  if (steps === null || steps < last.step) return null
  return axis === 'step' ? steps : ((last.epoch ?? last.step) * steps) / last.step
}

export type Range = { min: number; max: number }

/** The part of the axis that an address names, as in `20-60.5`; null for the whole curve. */
export function readZoom(text: string | null): Range | null {
  const [min = NaN, max = NaN] = (text ?? '').split('-').map(Number)
  return min < max ? { min, max } : null
}

/** The place in x nearest to this one whose value is in the range. */
export function placeWithin(x: readonly number[], { min, max }: Range, place: number): number {
  const first = x.findIndex((value) => value >= min)
  const last = x.findLastIndex((value) => value <= max)
  return Math.max(first, Math.min(last, place))
}

/** @param seconds of training at each metric @param other a series besides the losses that the curve shows */
export function pointText(metrics: readonly Metric[], at: number, seconds: readonly number[], other = ''): string {
  const metric = metrics[at]
  if (!metric) return ''
  const validated = metrics.slice(0, at + 1).findLast(({ valid_loss: value }) => value != null)
  const rate = metric.learning_rate
  const shown = other === '' ? null : metric[other]
  return [
    `step ${metric.step}`,
    `loss ${loss(metric.loss)}`,
    ...(validated ? [`held-out loss ${loss(validated.valid_loss)}`] : []),
    ...(shown == null ? [] : [`${other.replaceAll('_', ' ')} ${Number(shown.toPrecision(4))}`]),
    ...(rate == null || other === 'learning_rate' ? [] : [`learning rate ${Number(rate.toPrecision(3))}`]),
    ...(metric.epoch == null ? [] : [`epoch ${Number(metric.epoch.toFixed(2))}`]),
    ...((seconds[at] ?? 0) > 0 ? [duration(seconds[at] ?? 0)] : []),
  ].join(' · ')
}

export const writeZoom = ({ min, max }: Range) => `${tidy(Math.max(0, min))}-${tidy(max)}`
const tidy = (value: number) => Number(value.toFixed(3))

/**
 * An exponential mean that does not lean towards the first value.
 * @param weight 0 leaves the values as they are; towards 1 they become smoother
 */
export function smooth(values: readonly (number | null)[], weight: number): (number | null)[] {
  let [mean, total] = [0, 0]
  return values.map((value) => {
    if (value === null || weight <= 0) return value
    mean = mean * weight + value * (1 - weight)
    total = total * weight + (1 - weight)
    return mean / total
  })
}

/** The step with the lowest held-out loss. */
export function bestStep(metrics: readonly Metric[]): { step: number; value: number } | null {
  let best: { step: number; value: number } | null = null
  for (const { step, valid_loss: value } of metrics)
    if (value !== null && value !== undefined && (best === null || value < best.value)) best = { step, value }
  return best
}

/** The series that have a number somewhere. */
export function seriesOf(metrics: readonly Metric[]): string[] {
  const names = new Set<string>()
  for (const metric of metrics)
    for (const [name, value] of Object.entries(metric))
      if (typeof value === 'number' && name !== 'step') names.add(name)
  return [...names]
}

export function toCsv(metrics: readonly Metric[]): string {
  const names = ['step', ...seriesOf(metrics)]
  const rows = metrics.map((metric) => names.map((name) => metric[name] ?? '').join(','))
  return `${[names.join(','), ...rows].join('\n')}\n`
}

/** The points of a small curve, in a box of this size. */
export function sparkPath(values: readonly number[], width: number, height: number): string {
  if (values.length === 0) return ''
  const [low, high] = [Math.min(...values), Math.max(...values)]
  const wide = values.length > 1 ? width / (values.length - 1) : 0
  const tall = high > low ? height / (high - low) : 0
  return values.map((value, index) => `${round(index * wide)},${round(height - (value - low) * tall)}`).join(' ')
}

const round = (value: number) => Math.round(value * 10) / 10
