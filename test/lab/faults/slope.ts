// Whether something grows: a straight line through its samples, by least squares.

/** `life` names the process of a value: the memory of a process that starts again is compared only with its own. */
export type Point = { x: number; y: number; life: string | number }

/** `error` is half of the interval that has the slope in it 19 times of 20, if what the line does not explain is chance. */
type Slope = { slope: number; error: number; mean: number; count: number }

/** 95 % of a normal distribution are within this many standard errors. */
const errors = 1.96

/** One slope for all lives, each of which may have its own height. @returns null for fewer than three points beyond one a life */
export function slopeOf(points: readonly Point[]): Slope | null {
  const lives = [...Map.groupBy(points, ({ life }) => life).values()].filter(({ length }) => length > 1)
  const centred = lives.flatMap((life) => {
    const [x, y] = [meanOf(life.map((point) => point.x)), meanOf(life.map((point) => point.y))]
    return life.map((point) => ({ x: point.x - x, y: point.y - y }))
  })
  const freedom = centred.length - lives.length - 1
  const spread = sum(centred.map(({ x }) => x * x))
  if (freedom < 2 || spread === 0) return null
  const slope = sum(centred.map(({ x, y }) => x * y)) / spread
  const unexplained = sum(centred.map(({ x, y }) => (y - slope * x) ** 2))
  const error = errors * Math.sqrt(unexplained / freedom / spread)
  return { slope, error, mean: meanOf(lives.flat().map(({ y }) => y)), count: centred.length }
}

const sum = (values: readonly number[]) => values.reduce((total, value) => total + value, 0)
export const meanOf = (values: readonly number[]) => sum(values) / values.length
