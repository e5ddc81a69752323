// The losses of a job, and under them the attempts that the curve is made of.
import { useRef } from 'react'
import type { Attempt } from '../api/job.ts'
import {
  axes,
  bestStep,
  plannedEnd,
  pointText,
  readZoom,
  secondsAt,
  seriesOf,
  smooth,
  toCsv,
  valuesOn,
  type Metric,
} from '../domain/curve.ts'
import { loss } from '../domain/format.ts'
import { Chart, type Line } from '../ui/chart.tsx'
import { Choice, Labelled } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'
import { save } from '../ui/save.ts'
import { Smoothing } from '../ui/smoothing.tsx'
import { AttemptBand } from './attempt-band.tsx'

type Props = {
  id: number
  /** At least one. */
  metrics: Metric[]
  attempts: Attempt[]
  /** What is planned for an open job. */
  end: { steps: number | null; secondsLeft: number | null } | null
}

const alwaysShown = ['loss', 'valid_loss']
const notCurves = ['epoch', 'iter_time', 'remaining_time', 'flops']
const kindsOfDataSets = {
  'valid_loss/': 'held-out loss of',
  'valid_reward/': 'held-out reward of',
  'epoch/': 'passes over',
}
const nameOf = (series: string) =>
  ({ loss: 'training loss', valid_loss: 'held-out loss' })[series] ??
  ofDataSet(series, kindsOfDataSets) ??
  series.replaceAll('_', ' ')

/** The name of a figure that each of several data sets has. */
function ofDataSet(series: string, kinds: Record<string, string>): string | undefined {
  const kind = Object.keys(kinds).find((each) => series.startsWith(each))
  return kind && `${kinds[kind]} ${series.slice(kind.length)}`
}

export function JobCurve({ id, metrics, attempts, end }: Props) {
  const [query] = useQueryOfAddress()
  const { axis, weight, isLog, available, other } = setupOf(query, metrics)
  const canvas = useRef<HTMLCanvasElement | null>(null)
  const shown = other === '' ? alwaysShown.filter((name) => available.includes(name)) : [other]
  const x = valuesOn(axis, metrics)
  const lines = shown.flatMap((name, look) => linesOf(name, look, metrics, weight))
  const best = bestStep(metrics)
  const place = best ? x[metrics.findIndex(({ step }) => step === best.step)] : undefined
  const seconds = secondsAt(metrics)
  const last = metrics.at(-1)
  const until = end && plannedEnd(axis, metrics, end)
  const range = readZoom(query.get('zoom')) ?? { min: x[0] ?? 0, max: until ?? x.at(-1) ?? 1 }
  const at = (step: number) =>
    axis === 'step' ? step : (x[metrics.findLastIndex((metric) => metric.step <= step)] ?? 0)
  const label = `Losses of job ${id} over ${metrics.length} points; the last training loss is ${loss(last?.loss)}${
    best ? `, the best held-out loss is ${loss(best.value)} at step ${best.step}` : ''
  }.`
  return (
    <section aria-label="Curve" className="curve card">
      <Chart
        x={x}
        xName={axis}
        end={until}
        lines={lines}
        isLog={isLog}
        label={label}
        pointText={(place) => pointText(metrics, place, seconds, other)}
        mark={best && place !== undefined && other === '' ? { at: place, label: `best, step ${best.step}` } : null}
        onCanvas={(element) => (canvas.current = element)}
        below={<AttemptBand attempts={attempts} newest={last?.step ?? 0} range={range} at={at} />}
      />
      <CurveTools id={id} metrics={metrics} canvas={canvas} />
    </section>
  )
}

type ToolsProps = { id: number; metrics: Metric[]; canvas: React.RefObject<HTMLCanvasElement | null> }

/** What the curve shows, in the address of the page, and its files. */
function CurveTools({ id, metrics, canvas }: ToolsProps) {
  const [query, change] = useQueryOfAddress()
  const { axis, weight, isLog, other, others } = setupOf(query, metrics)
  return (
    <div className="chart-tools">
      <Choice
        label="Over"
        value={axis}
        values={axes}
        textOf={(each) => (each === 'time' ? 'seconds of training' : each)}
        onChange={(over) => change({ over, zoom: '' })}
      />
      {others.length > 0 && (
        <Choice
          label="Series"
          value={other}
          values={['', ...others]}
          textOf={(each) => (each === '' ? 'losses' : nameOf(each))}
          onChange={(series) => change({ series })}
        />
      )}
      <Labelled name="Smooth">
        <Smoothing weight={weight} onChange={(smooth) => change({ smooth })} />
      </Labelled>
      <label className="inline">
        <input type="checkbox" checked={isLog} onChange={(event) => change({ log: event.target.checked ? '1' : '' })} />{' '}
        Log scale
      </label>
      <span className="buttons">
        <button
          type="button"
          className="plain small"
          onClick={() => save(`job-${id}.csv`, new Blob([toCsv(metrics)], { type: 'text/csv' }))}
        >
          CSV
        </button>
        <button
          type="button"
          className="plain small"
          onClick={() => canvas.current?.toBlob((image) => image && save(`job-${id}.png`, image))}
        >
          PNG
        </button>
      </span>
    </div>
  )
}

function setupOf(query: URLSearchParams, metrics: Metric[]) {
  const available = seriesOf(metrics)
  const others = available.filter((name) => !alwaysShown.includes(name) && !notCurves.includes(name))
  return {
    axis: axes.find((each) => each === query.get('over')) ?? 'step',
    weight: Number(query.get('smooth')),
    isLog: query.has('log'),
    available,
    others,
    other: others.find((name) => name === query.get('series')) ?? '',
  }
}

function linesOf(name: string, look: number, metrics: Metric[], weight: number): Line[] {
  const values = metrics.map((metric) => metric[name] ?? null)
  if (weight === 0) return [{ name: nameOf(name), values, look, width: 2 }]
  return [
    { name: `${nameOf(name)}, as reported`, values, look, isFaint: true, width: 1 },
    { name: nameOf(name), values: smooth(values, weight), look, width: 2 },
  ]
}
