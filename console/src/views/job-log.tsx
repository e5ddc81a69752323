// The log of an attempt: it can be followed, and searched.
import { useQuery } from '@tanstack/react-query'
import { useEffect, useRef, useState } from 'react'
import type { Attempt } from '../api/job.ts'
import { logQuery, type Watched } from '../api/jobs.ts'
import { Labelled } from '../ui/labelled.tsx'
import { useQueryOfAddress } from '../ui/router.tsx'
import { Answer, Empty } from '../ui/states.tsx'

type Props = Watched & { id: number; attempts: Attempt[] }

export function JobLog({ id, isOpen, isFollowed, attempts }: Props) {
  const [query, change] = useQueryOfAddress()
  const chosen = Number(query.get('attempt'))
  const attempt = attempts.find((each) => each.attempt === chosen)?.attempt ?? attempts[0]?.attempt
  const log = useQuery(logQuery(id, attempt, { isOpen, isFollowed }))
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
