// Small pieces of text: times, states, code to copy.
import { useEffect, useState } from 'react'
import { age, count, parseTime } from '../domain/format.ts'

/** The current time, as often as it is needed. */
export function useNow(everyMs = 1000, isRunning = true): Date {
  const [now, setNow] = useState(() => new Date())
  useEffect(() => {
    if (!isRunning) return
    const timer = setInterval(() => setNow(new Date()), everyMs)
    return () => clearInterval(timer)
  }, [everyMs, isRunning])
  return now
}

const localTime = (date: Date) => date.toLocaleString(undefined, { dateStyle: 'medium', timeStyle: 'medium' })

/** Local time, and UTC. */
export const bothTimes = (date: Date) => `${localTime(date)} · ${date.toISOString().slice(0, 19)} UTC`

/** Local time; the title has it in UTC. */
export function When({ at, as = 'time' }: { at: string | Date; as?: 'time' | 'age' }) {
  const date = typeof at === 'string' ? parseTime(at) : at
  const now = useNow(30_000, as === 'age')
  return (
    <time dateTime={date.toISOString()} title={bothTimes(date)}>
      {as === 'age' ? age(date, now) : localTime(date)}
    </time>
  )
}

const marks: Record<string, [tone: string, mark: string]> = {
  CREATED: ['waits', '○'],
  QUEUED: ['waits', '◔'],
  'LOADING DATA': ['runs', '◑'],
  'TRAINING MODEL': ['runs', '◑'],
  'SAVING MODEL': ['runs', '◕'],
  'EVALUATING MODEL': ['runs', '◕'],
  RUNNING: ['runs', '◑'],
  COMPLETED: ['done', '●'],
  'PARTIALLY COMPLETED': ['partly', '◐'],
  FAILED: ['failed', '✕'],
  CANCELLED: ['ended', '–'],
  EXPIRED: ['failed', '✕'],
}

/** The mark differs in its form too, for those who do not see the colours. */
export function Status({ status }: { status: string }) {
  const [tone, mark] = marks[status] ?? ['waits', '○']
  return (
    <span className={`status ${tone}`}>
      <span aria-hidden="true">{mark}</span> {status.toLowerCase()}
    </span>
  )
}

/** Says how many rows of a data set are bad, if any. */
export const BadCount = ({ bad }: { bad: number | null }) =>
  bad !== null &&
  bad > 0 && (
    <span className="status failed">
      {' '}
      ✕ {count(bad)} bad {bad === 1 ? 'row' : 'rows'}
    </span>
  )

export function Progress({ share, label }: { share: number | null; label: string }) {
  return (
    <span className="progress">
      <progress aria-label={label} max={1} {...(share === null ? {} : { value: share })} />
      <span className="quiet">{label}</span>
    </span>
  )
}

export function Code({ text, label = 'Copy' }: { text: string; label?: string }) {
  const [isCopied, setCopied] = useState(false)
  const copy = async () => {
    await navigator.clipboard.writeText(text)
    setCopied(true)
    setTimeout(() => setCopied(false), 2000)
  }
  return (
    <div className="code">
      <pre tabIndex={0}>{text}</pre>
      <button type="button" onClick={() => void copy()}>
        {isCopied ? 'Copied' : label}
      </button>
    </div>
  )
}
