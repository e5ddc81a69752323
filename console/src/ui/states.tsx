// What a page shows while it has nothing to show.
import type { UseQueryResult } from '@tanstack/react-query'
import { useEffect, useState, type ReactNode } from 'react'
import { ApiError, NoAnswer } from '../api/errors.ts'

const patienceMs = 200

/** Nothing for what takes a moment, then the shape of what comes. */
export function Loading({ what }: { what: string }) {
  const [isSlow, setSlow] = useState(false)
  useEffect(() => {
    const timer = setTimeout(() => setSlow(true), patienceMs)
    return () => clearTimeout(timer)
  }, [])
  return (
    <div className="state" role="status">
      {isSlow && (
        <>
          <span className="hidden">Loading {what}…</span>
          <Skeleton />
        </>
      )}
    </div>
  )
}

const barsOfSkeleton = 3

export const Skeleton = () => (
  <div className="skeleton" aria-hidden="true">
    {Array.from({ length: barsOfSkeleton }, (_, index) => (
      <span key={index} />
    ))}
  </div>
)

export function Failure({ error, retry }: { error: unknown; retry?: () => void }) {
  const requestId = error instanceof ApiError ? error.requestId : null
  return (
    <div className="state failure" role="alert">
      <p>{error instanceof Error ? error.message : String(error)}</p>
      {requestId && (
        <p className="quiet">
          Request <code>{requestId}</code>
        </p>
      )}
      {retry && (
        <button type="button" onClick={retry}>
          Try again
        </button>
      )}
    </div>
  )
}

/** Says what will be here, and when. A heading and a link or button may stand around the sentence. */
export const Empty = ({ children }: { children: ReactNode }) => <div className="state empty">{children}</div>

/** The answer of a query, or what stands in its place. An answer that is there stays while a newer one cannot be had. */
export function Answer<T>({
  query,
  what,
  children,
}: {
  query: UseQueryResult<T>
  what: string
  children: (answer: T) => ReactNode
}) {
  if (query.data !== undefined) return children(query.data)
  if (query.error && !(query.error instanceof NoAnswer))
    return <Failure error={query.error} retry={() => void query.refetch()} />
  return <Loading what={what} />
}
