// Follows one job by the stream of its events, where the service has one.
import { useEffect, useState, useSyncExternalStore } from 'react'
import { mergeMetrics, metricOf, type Metric, type ToldMetric } from '../domain/curve.ts'
import { createEventParser, type StreamEvent } from '../domain/event-stream.ts'
import { send } from './client.ts'
import { ApiError } from './errors.ts'
import type { Job, JobEvent, Progress } from './job.ts'
import { partKey, refreshJobs, type JobPart } from './jobs.ts'
import { queryClient } from './query-client.ts'

/** Events come in bursts; what they have changed is asked for once. */
const settleMs = 250
const againMs = 1000

/** Follows an open job until the page is left. @returns whether a stream is open: without one, pages ask again and again */
export function useFollow(id: number, isOpen: boolean): boolean {
  const [isFollowed, setFollowed] = useState(false)
  const isVisible = useSyncExternalStore(onVisibility, () => !document.hidden)
  useEffect(() => {
    // Browsers open six connections to a service: a hidden page must not hold one.
    if (!isOpen || !isVisible) return setFollowed(false)
    const stop = new AbortController()
    void follow(id, setFollowed, stop.signal)
    return () => stop.abort()
  }, [id, isOpen, isVisible])
  return isFollowed
}

function onVisibility(listener: () => void) {
  document.addEventListener('visibilitychange', listener)
  return () => document.removeEventListener('visibilitychange', listener)
}

async function follow(id: number, setFollowed: (isOpen: boolean) => void, signal: AbortSignal) {
  const changed = createRefresher(id, signal)
  for (let lastId: string | null = null; !signal.aborted;) {
    try {
      const headers: Record<string, string> = { Accept: 'text/event-stream' }
      if (lastId !== null) headers['Last-Event-ID'] = lastId
      // The pages have read what is there; a stream that was cut goes on where it was.
      const response = await send(`/v1/train/jobs/${id}/stream?from=now`, { headers, signal })
      setFollowed(true)
      if (lastId === null) changed({ id: null, type: 'opened', data: '' })
      const parse = createEventParser()
      const reader = response.body?.pipeThrough(new TextDecoderStream()).getReader()
      for (let part = await reader?.read(); part && !part.done; part = await reader?.read())
        for (const event of parse(part.value)) {
          lastId = event.id ?? lastId
          if (event.type === 'end') return changed(event)
          changed(event)
        }
    } catch (error) {
      // A service without streams, or a session that has ended.
      if (error instanceof ApiError && error.status < 500) return setFollowed(false)
    }
    setFollowed(false)
    await new Promise((resolve) => setTimeout(resolve, againMs))
  }
}

const changedBy: Record<string, readonly (JobPart | 'list')[]> = {
  status: ['job', 'events', 'attempts', 'list'],
  opened: ['job', 'events', 'attempts', 'metrics'],
  note: ['events'],
  command: ['events', 'job'],
  attempt: ['events', 'attempts', 'job'],
  log: ['log'],
  end: ['job', 'events', 'attempts', 'metrics', 'evaluation', 'log'],
}

/** Puts metrics into the cache at once, and asks again for what other events have changed. */
function createRefresher(id: number, signal: AbortSignal) {
  const stale = new Set<JobPart | 'list'>()
  const metrics: Metric[] = []
  let progress: Progress | undefined
  let timer: ReturnType<typeof setTimeout> | undefined
  signal.addEventListener('abort', () => clearTimeout(timer))

  function settle() {
    timer = undefined
    if (metrics.length > 0) {
      const newer = metrics.splice(0).toSorted((a, b) => a.step - b.step)
      queryClient.setQueryData<Metric[]>(partKey(id, 'metrics'), (known) => known && mergeMetrics(known, newer))
    }
    if (progress)
      queryClient.setQueryData<Job>(partKey(id, 'job'), (known) => known && progress && { ...known, progress })
    progress = undefined
    for (const part of stale)
      void (part === 'list' ? refreshJobs() : queryClient.invalidateQueries({ queryKey: partKey(id, part) }))
    stale.clear()
  }

  return ({ type, data }: StreamEvent) => {
    // A new attempt drops the steps after the checkpoint that it starts from.
    if (type === 'status' && data.includes('"LOADING DATA"')) {
      queryClient.setQueryData<Metric[]>(partKey(id, 'metrics'), [])
      stale.add('metrics')
    }
    if (type === 'metric') metrics.push(metricOf(JSON.parse(data) as ToldMetric))
    if (type === 'progress') progress = (JSON.parse(data) as Progress | null) ?? undefined
    const kind = type === 'event' ? (JSON.parse(data) as JobEvent).kind : type
    for (const part of changedBy[kind] ?? []) stale.add(part)
    timer ??= setTimeout(settle, settleMs)
  }
}
