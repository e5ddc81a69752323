// The log of an attempt: it is read on from where it ended, can be followed, and searched.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import { api } from '../api/client.ts'
import type { Attempt } from '../api/job.ts'
import { ApiError } from '../api/errors.ts'
import { askEvery, queryClient, type Watched } from '../api/queries.ts'
import { Labelled } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'

type Read = { text: string; offset: number; isComplete: boolean }

const partBytes = 1_048_576
/** The page keeps the end of a longer log. */
const keptCharacters = 2_000_000
const nothing: Read = { text: '', offset: 0, isComplete: false }

function useLog(id: number, attempt: number | undefined, { isOpen, isFollowed }: Watched) {
  const queryKey = ['log', id, attempt]
  return useQuery<Read>({
    queryKey,
    enabled: attempt !== undefined,
    refetchInterval: ({ state }) => askEvery({ isOpen: isOpen && !state.data?.isComplete, isFollowed }),
    queryFn: async ({ signal }) => {
      let read = queryClient.getQueryData<Read>(queryKey) ?? nothing
      for (;;) {
        const query = { ...(attempt === undefined ? {} : { attempt }), offset: read.offset, limit: partBytes }
        const params = { path: { job_id: id }, query }
        const part = await api.GET('/v1/train/jobs/{job_id}/logs', { params, signal }).catch((error: unknown) => {
          if (error instanceof ApiError && error.status === 404) return null
          throw error
        })
        if (part === null) return read
        const isDone = part.next_offset === read.offset || part.complete
        read = {
          text: (read.text + part.text).slice(-keptCharacters),
          offset: part.next_offset,
          isComplete: part.complete,
        }
        if (isDone) return read
      }
    },
  })
}

type Props = Watched & { id: number; attempts: Attempt[] }

export function JobLog({ id, isOpen, isFollowed, attempts }: Props) {
  const [query, change] = useQueryOfAddress()
  const chosen = Number(query.get('attempt'))
  const attempt = attempts.find((each) => each.attempt === chosen)?.attempt ?? attempts[0]?.attempt
  const log = useLog(id, attempt, { isOpen, isFollowed })
  if (attempt === undefined) return <Empty>No attempt has begun yet, so there is no log.</Empty>
  return (
    <>
      {attempts.length > 1 && (
        <label className="inline">
          Attempt{' '}
          <select value={attempt} onChange={(event) => change({ attempt: event.target.value })}>
            {attempts.map(({ attempt: number }) => (
              <option key={number}>{number}</option>
            ))}
          </select>
        </label>
      )}
      <Answer query={log} what="the log">
        {({ text }) => (text === '' ? <Empty>The log is empty.</Empty> : <LogText text={text} isOpen={isOpen} />)}
      </Answer>
    </>
  )
}

function LogText({ text, isOpen }: { text: string; isOpen: boolean }) {
  const [query, change] = useQueryOfAddress()
  const search = query.get('find') ?? ''
  const [isFollowing, setFollowing] = useState(isOpen)
  const box = useRef<HTMLPreElement>(null)
  const wanted = search.toLowerCase()
  const lines = text.split('\n')
  const found = wanted === '' ? lines : lines.filter((line) => line.toLowerCase().includes(wanted))
  useEffect(() => {
    if (isFollowing && box.current) box.current.scrollTop = box.current.scrollHeight
  }, [text, isFollowing])
  return (
    <>
      <form className="filters" role="search" onSubmit={(event) => event.preventDefault()}>
        <Labelled name="Search the log">
          <input type="search" value={search} onChange={(event) => change({ find: event.target.value })} />
        </Labelled>
        <label className="inline">
          <input type="checkbox" checked={isFollowing} onChange={(event) => setFollowing(event.target.checked)} />{' '}
          Follow
        </label>
        {wanted !== '' && <p className="quiet">{found.length} lines</p>}
      </form>
      <pre className="log" ref={box} tabIndex={0} aria-label="Log">
        {found.join('\n')}
      </pre>
    </>
  )
}
