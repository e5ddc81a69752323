// How numbers and times read.

/** Times of the API are UTC without a zone. */
export const parseTime = (text: string) => new Date(/[zZ]|[+-]\d\d:\d\d$/.test(text) ? text : `${text}Z`)

export function duration(seconds: number): string {
  if (!Number.isFinite(seconds)) return '–'
  if (seconds < 1) return seconds <= 0 ? '0 s' : '< 1 s'
  if (seconds < 60) return `${Math.round(seconds)} s`
  const minutes = Math.floor(seconds / 60)
  if (minutes < 60) return `${minutes} min ${Math.round(seconds % 60)} s`
  const hours = Math.floor(minutes / 60)
  if (hours < 48) return `${hours} h ${minutes % 60} min`
  return `${Math.floor(hours / 24)} d ${hours % 24} h`
}

export function age(from: Date, now: Date): string {
  const seconds = Math.max(0, (now.getTime() - from.getTime()) / 1000)
  if (seconds < 60) return 'just now'
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ago`
  if (seconds < 48 * 3600) return `${Math.floor(seconds / 3600)} h ago`
  return `${Math.floor(seconds / 86_400)} d ago`
}

export function bytes(count: number): string {
  const units = ['B', 'KB', 'MB', 'GB', 'TB']
  let [value, unit] = [count, 0]
  while (value >= 1000 && unit < units.length - 1) [value, unit] = [value / 1000, unit + 1]
  return `${unit === 0 || value >= 100 ? Math.round(value) : value.toFixed(1)} ${units[unit] ?? ''}`
}

/** A number of parameters, such as 135 M. */
export function parameters(number: number): string {
  const [value, unit] = number >= 1e9 ? [number / 1e9, 'B'] : [number / 1e6, 'M']
  return `${value >= 100 ? Math.round(value) : Number(value.toPrecision(2))} ${unit}`
}

export const count = (value: number) => value.toLocaleString('en-US')

/** An amount in millionths of a currency, such as €1.23. Less than a cent keeps its digits. */
export const money = (micros: number, currency: string) =>
  (micros / 1e6).toLocaleString('en-US', {
    style: 'currency',
    currency,
    maximumFractionDigits: micros !== 0 && Math.abs(micros) < 10_000 ? 6 : 2,
  })

export function loss(value: number | null | undefined): string {
  if (value === null || value === undefined) return '–'
  return Math.abs(value) >= 0.001 || value === 0 ? value.toPrecision(4) : value.toExponential(2)
}

/** A score. */
export const fixed = (value: number) => value.toFixed(3)

export const percent = (share: number) => `${Math.floor(share * 100)} %`

const isGivenId = /^(file-)?[0-9a-f]{32,}$|^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/

/** The beginning of a long id that the service gave. */
export const short = (id: string) => (isGivenId.test(id) ? `${id.slice(0, 10)}…` : id)
