// Curves, drawn by uPlot on a canvas. Lines differ in colour and in dash. The address of the page holds the zoom.
import { useEffect, useRef, useState, type KeyboardEvent, type ReactNode } from 'react'
import './locale.ts'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { placeWithin, readZoom, writeZoom, type Range } from '../domain/curve.ts'
import { useQueryOfAddress } from './router.tsx'

export type Line = {
  name: string
  values: readonly (number | null)[]
  /** A place in the list of colours and dashes. */
  look: number
  width?: number
  isFaint?: boolean
}

export type ChartProps = {
  x: readonly number[]
  xName: string
  /** Where the axis ends, if later than the last value. */
  end?: number | null
  lines: readonly Line[]
  isLog: boolean
  /** A vertical line with a word. */
  mark?: { at: number; label: string } | null
  /** Gets the canvas for an export. */
  onCanvas?: (canvas: HTMLCanvasElement | null) => void
  label: string
  /** Says what is known at a point, by its place in `x`; the values of the lines without it. */
  pointText?: (at: number) => string
  /** Stands right under the curve. */
  below?: ReactNode
}

// Okabe and Ito's colours, told apart by colour-blind readers; the style sheet has those of each theme.
const looks = 8
const dashes = [[], [8, 4], [2, 3], [12, 4, 2, 4], [4, 4], [1, 2], [16, 4], [6, 2, 1, 2]]
const height = 300
/** In pixels, also in style/pages.css: room for half of the last name of the axis. */
const paddingRight = 24

export function Chart(props: ChartProps) {
  const { x, lines, isLog, xName, label, onCanvas, mark, below, end = null } = props
  const [pointed, setPointed] = useState<number | null>(null)
  const [query, change] = useQueryOfAddress()
  const zoom = readZoom(query.get('zoom'))
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const whole = end === null ? null : { min: x[0] ?? 0, max: Math.max(end, x.at(-1) ?? 0) }
  const shown = zoom ?? whole
  const zoomTo = (range: Range | null) => change({ zoom: range ? writeZoom(range) : '' })
  const latest = useRef<Latest>({ mark, shown, zoomTo, setPointed })
  latest.current = { mark, shown, zoomTo, setPointed }
  const shape = JSON.stringify([isLog, xName, lines.map(({ name, look, isFaint }) => [name, look, isFaint])])
  const data = [x, ...lines.map(({ values }) => values)] as unknown as uPlot.AlignedData
  const newest = useRef(data)
  newest.current = data

  useEffect(() => {
    const element = box.current
    if (!element) return
    const draw = () => {
      plot.current?.destroy()
      const options = optionsFor(element, { xName, lines, isLog }, latest)
      plot.current = new uPlot(options, newest.current, element)
      followTouch(plot.current)
      if (latest.current.shown) plot.current.setScale('x', latest.current.shown)
      onCanvas?.(element.querySelector('canvas'))
    }
    draw()
    const resized = new ResizeObserver(() => plot.current?.setSize({ width: element.clientWidth, height }))
    resized.observe(element)
    window.addEventListener('themechange', draw)
    return () => {
      window.removeEventListener('themechange', draw)
      resized.disconnect()
      plot.current?.destroy()
      plot.current = null
    }
    // A new shape needs a new plot; new values do not.
  }, [shape])

  useEffect(() => {
    // Without a range the plot fits its axes to the data.
    plot.current?.setData(data, shown === null)
    if (shown) plot.current?.setScale('x', shown)
    // A pointer that moves draws nothing again.
  }, [x, lines, mark, shown?.min, shown?.max])
  const { min: first, max: last } = shown ?? { min: x[0] ?? 0, max: x.at(-1) ?? 0 }
  const middle = (first + last) / 2
  const at = Math.min(pointed ?? x.length - 1, x.length - 1)
  const text = (props.pointText ?? ((place) => valuesText(place, props)))(at)
  const onKey = (event: KeyboardEvent) => {
    const place = placeAfter(event.key, at, x.length)
    if (place === null || !plot.current) return
    event.preventDefault()
    const value = x[placeWithin(x, { min: first, max: last }, place)] ?? 0
    plot.current.setCursor({ left: plot.current.valToPos(value, 'x'), top: plot.current.over.clientHeight / 2 })
  }
  return (
    <>
      <div
        className="chart"
        ref={box}
        role="slider"
        tabIndex={0}
        aria-label={label}
        aria-valuemin={0}
        aria-valuemax={Math.max(0, x.length - 1)}
        aria-valuenow={Math.max(0, at)}
        aria-valuetext={text}
        onKeyDown={onKey}
      />
      {below}
      <p className="point" aria-hidden="true">
        {text}
      </p>
      <p className="quiet small buttons zooms">
        Point at the curve, or use the arrow keys, to read a point. Drag over it to zoom, or show its
        <button type="button" className="small plain" onClick={() => zoomTo({ min: first, max: middle })}>
          first half
        </button>
        <button type="button" className="small plain" onClick={() => zoomTo({ min: middle, max: last })}>
          last half
        </button>
        {zoom && (
          <button type="button" className="small plain" onClick={() => zoomTo(null)}>
            whole
          </button>
        )}
      </p>
    </>
  )
}

type Look = Pick<ChartProps, 'xName' | 'lines' | 'isLog'>
type Latest = {
  mark: ChartProps['mark']
  shown: Range | null
  zoomTo: (range: Range | null) => void
  setPointed: (at: number | null) => void
}

const pageOfPoints = 10

/** The place to which a key leads; null for other keys. */
function placeAfter(key: string, at: number, length: number): number | null {
  const places: Record<string, number> = {
    ArrowLeft: at - 1,
    ArrowRight: at + 1,
    PageDown: at - pageOfPoints,
    PageUp: at + pageOfPoints,
    Home: 0,
    End: length - 1,
  }
  return places[key] ?? null
}

const valuesText = (at: number, { x, xName, lines }: ChartProps) =>
  [[xName, x[at]] as const, ...lines.map(({ name, values }) => [name, values[at]] as const)]
    .flatMap(([name, value]) => (value == null ? [] : `${name} ${Number(value.toPrecision(4))}`))
    .join(', ')

/** uPlot follows a mouse only. A finger that moves sideways reads the curve, and one that moves up or down scrolls the page. */
function followTouch(plot: uPlot) {
  const follow = ({ pointerType, clientX, clientY }: PointerEvent) => {
    if (pointerType === 'mouse') return
    const { left, top } = plot.over.getBoundingClientRect()
    plot.setCursor({ left: clientX - left, top: clientY - top })
  }
  plot.over.addEventListener('pointerdown', follow)
  plot.over.addEventListener('pointermove', follow)
}

/** There is no step between two steps. */
const wholeSteps = Array.from({ length: 9 }, (_, power) => [1, 2, 5].map((digit) => digit * 10 ** power)).flat()

function optionsFor(element: HTMLElement, { xName, lines, isLog }: Look, latest: { current: Latest }): uPlot.Options {
  const style = getComputedStyle(document.documentElement)
  const colour = (name: string) => style.getPropertyValue(`--${name}`).trim()
  const axis = {
    stroke: colour('quiet'),
    grid: { stroke: colour('line'), width: 1 },
    ticks: { stroke: colour('line') },
  }
  return {
    width: element.clientWidth,
    height,
    padding: [null, paddingRight, null, null],
    scales: { x: { time: false }, y: { distr: isLog ? 3 : 1 } },
    axes: [xName === 'step' ? { ...axis, incrs: wholeSteps } : axis, { ...axis, size: 60 }],
    series: [
      { label: xName },
      ...lines.map(({ name, look, width = 1.5, isFaint = false }) => ({
        label: name,
        stroke: colour(`curve-${look % looks}`) + (isFaint ? '55' : ''),
        width,
        dash: isFaint ? [] : (dashes[look % dashes.length] ?? []),
        spanGaps: true,
        // The first report alone is no line.
        points: { show: ({ data: [x] }: uPlot) => x.length === 1 },
      })),
    ],
    // The line under the curve has the values.
    legend: { live: false },
    cursor: {
      drag: { x: true, y: false, setScale: false },
      bind: {
        dblclick: () => () => {
          latest.current.zoomTo(null)
          return null
        },
      },
    },
    hooks: {
      drawClear: [
        // A picture of the curve would have no ground of its own.
        ({ ctx }) => {
          ctx.fillStyle = colour('ground')
          ctx.fillRect(0, 0, ctx.canvas.width, ctx.canvas.height)
        },
      ],
      draw: [(plot) => drawMark(plot, latest.current.mark, colour('text'))],
      setCursor: [({ cursor: { idx } }) => latest.current.setPointed(idx ?? null)],
      setSelect: [
        (plot) => {
          const { left, width } = plot.select
          if (width === 0) return
          latest.current.zoomTo({ min: plot.posToVal(left, 'x'), max: plot.posToVal(left + width, 'x') })
          plot.setSelect({ left: 0, top: 0, width: 0, height: 0 }, false)
        },
      ],
    },
  }
}

function drawMark(plot: uPlot, mark: ChartProps['mark'], stroke: string) {
  if (!mark) return
  const left = plot.valToPos(mark.at, 'x', true)
  const { ctx, bbox } = plot
  if (left < bbox.left || left > bbox.left + bbox.width) return
  ctx.save()
  ctx.strokeStyle = stroke
  ctx.fillStyle = stroke
  ctx.setLineDash([3, 3])
  ctx.beginPath()
  ctx.moveTo(left, bbox.top)
  ctx.lineTo(left, bbox.top + bbox.height)
  ctx.stroke()
  const isRight = left > bbox.left + bbox.width / 2
  ctx.textAlign = isRight ? 'right' : 'left'
  ctx.fillText(mark.label, left + (isRight ? -6 : 6), bbox.top + 14)
  ctx.restore()
}
