// Curves, drawn by uPlot on a canvas. Lines differ in colour and in dash. The address of the page holds the zoom.
import { useEffect, useRef, type ReactNode } from 'react'
import './locale.ts'
import uPlot from 'uplot'
import 'uplot/dist/uPlot.min.css'
import { readZoom, writeZoom, type Range } from '../domain/curve.ts'
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
  const [query, change] = useQueryOfAddress()
  const zoom = readZoom(query.get('zoom'))
  const box = useRef<HTMLDivElement>(null)
  const plot = useRef<uPlot | null>(null)
  const whole = end === null ? null : { min: x[0] ?? 0, max: Math.max(end, x.at(-1) ?? 0) }
  const shown = zoom ?? whole
  const zoomTo = (range: Range | null) => change({ zoom: range ? writeZoom(range) : '' })
  const latest = useRef<Latest>({ mark, shown, zoomTo })
  latest.current = { mark, shown, zoomTo }
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
  })
  const { min: first, max: last } = shown ?? { min: x[0] ?? 0, max: x.at(-1) ?? 0 }
  const middle = (first + last) / 2
  return (
    <>
      <div className="chart" ref={box} role="img" aria-label={label} />
      {below}
      <p className="quiet small buttons zooms">
        Drag over the curve to zoom, or show its
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
type Latest = { mark: ChartProps['mark']; shown: Range | null; zoomTo: (range: Range | null) => void }

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
    axes: [axis, { ...axis, size: 60 }],
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
