/** From 0 to 1: opposite directions say no more about an answer than unrelated ones. */
export function cosine(a: readonly number[], b: readonly number[]): number {
  const dot = (x: readonly number[], y: readonly number[]) =>
    x.reduce((sum, value, at) => sum + value * (y[at] ?? 0), 0)
  const length = Math.sqrt(dot(a, a) * dot(b, b))
  return length === 0 ? 0 : Math.min(1, Math.max(0, dot(a, b) / length))
}
