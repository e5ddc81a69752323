// A chart of losses for a terminal.

type Point = { step: number; loss: number }

const bars = [' ', '▁', '▂', '▃', '▄', '▅', '▆', '▇', '█']

/** Each column is the mean of an equal share of the points, oldest first. */
export function chartOf(points: readonly Point[], { width = 60, height = 8 } = {}): string {
  const [first, last] = [points[0], points.at(-1)]
  if (!first || !last) return 'No losses yet.'
  const columns = meansOf(points, Math.min(width, points.length))
  const [low, high] = [Math.min(...columns), Math.max(...columns)]
  // A column at the lowest loss still has its lowest bar.
  const eighths = (loss: number) => 1 + Math.round(((loss - low) / (high - low || 1)) * (height * 8 - 1))
  const labels = [high, ...Array<null>(height - 2).fill(null), low].map((loss) => loss?.toFixed(3) ?? '')
  const labelWidth = Math.max(...labels.map(({ length }) => length))
  const lines = labels.map((label, row) => {
    const below = (height - 1 - row) * 8
    const cells = columns.map((loss) => bars[Math.min(Math.max(eighths(loss) - below, 0), 8)])
    return `${label.padStart(labelWidth)} │${cells.join('')}`.trimEnd()
  })
  const [from, to] = [String(first.step), String(last.step)]
  const axis = `${' '.repeat(labelWidth)}  ${from}${to.padStart(Math.max(columns.length - from.length, to.length + 1))}`
  return [...lines, axis, `step ${last.step}, loss ${last.loss.toFixed(4)}`].join('\n')
}

function meansOf(points: readonly Point[], count: number): number[] {
  return Array.from({ length: count }, (_, column) => {
    const begin = Math.floor((column * points.length) / count)
    const part = points.slice(begin, Math.floor(((column + 1) * points.length) / count))
    return part.reduce((sum, { loss }) => sum + loss, 0) / part.length
  })
}
